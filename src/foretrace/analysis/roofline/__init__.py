"""How far work is from what a device can do: FLOPs and minimum bytes of ops from their recorded inputs.

``inputs`` reads an op's recorded inputs, ``work`` says what work is, ``catalog`` knows the ops; ``bound`` holds work
against a device's peaks, ``recorded`` does so for a trace.
"""
