"""What the process tells its caller. Part of the interface: scripts depend on it."""

DONE = 0
NO = 1
"""The answer is "no": a failed check, a lost comparison."""
WRONG_USE = 2
"""Wrong use or bad input."""
MACHINE_FAILED = 3
"""The machine or the network failed."""
INTERRUPTED = 130
"""Ctrl+C, or the reader of the output went away."""
