"""What is odd in a trace, why, and what to change."""
