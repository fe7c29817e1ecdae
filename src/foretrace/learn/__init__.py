"""Lessons: guess what a trace holds, then look.

``registry`` is the list of lessons, ``lessons`` holds one module for each, ``programs`` the code that was recorded,
``recordings`` the traces. ``lesson`` says what a lesson is made of; ``session`` asks, ``show`` prints, ``markdown``
writes the documentation's pages, ``record`` makes the recordings. Every number in a lesson is computed from its traces
when it is shown.
"""
