"""Pure functions from a trace to tables and numbers."""
