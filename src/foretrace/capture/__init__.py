"""Profiling properly: the only layer that imports torch."""
