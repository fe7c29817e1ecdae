"""The one part of the build that pyproject.toml cannot say: the optional scanner."""

from setuptools import setup

setup()
