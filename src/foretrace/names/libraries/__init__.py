"""Name patterns, one file a library."""
