"""What holds for all tests."""

import os

# Tests that depend on a width set it; a width of whoever runs them, or of a test runner's workers, is not theirs.
os.environ.pop("COLUMNS", None)
