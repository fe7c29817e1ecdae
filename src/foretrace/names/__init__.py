"""Kernel names taken apart, and the occupancy of a launch."""
