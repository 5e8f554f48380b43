"""The process's exit codes. Part of the interface: scripts depend on them."""

DONE = 0
NO = 1
"""A failed check, a lost comparison, nothing found."""
WRONG_USE = 2
MACHINE_FAILED = 3
"""The machine or the network."""
INTERRUPTED = 130
"""Ctrl+C, or the reader of the output went away."""
