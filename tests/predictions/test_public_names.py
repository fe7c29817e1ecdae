"""`foretrace.metrics`, `foretrace.check` and `foretrace.diff` stay functions, whatever was imported before."""

import importlib
import subprocess
import sys

import pytest

import foretrace


@pytest.mark.parametrize("name", ["metrics", "check", "diff"])
def test_they_are_functions(name):
    assert callable(getattr(foretrace, name))
    assert name in dir(foretrace)


def test_importing_modules_does_not_hide_them():
    code = (
        "import foretrace, foretrace.analysis.metrics, foretrace.differences, foretrace.cli.check, foretrace.cli.diff\n"
        "import foretrace.predictions, foretrace.cli.metrics\n"
        "assert all(callable(getattr(foretrace, name)) for name in ('metrics', 'check', 'diff'))\n"
        "assert not any(type(getattr(foretrace, name)).__name__ == 'module' for name in ('metrics', 'check', 'diff'))"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_their_results_are_public_too():
    for name in ("Difference", "Outcome", "Prediction"):
        assert isinstance(getattr(foretrace, name), type)
    assert importlib.import_module("foretrace.predictions").Prediction is foretrace.Prediction
