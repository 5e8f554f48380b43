"""Measuring what drafting brings on this machine: the same prompts with and without it."""
