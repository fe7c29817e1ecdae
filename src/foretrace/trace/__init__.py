"""Reading a Kineto trace into columns."""
