"""Comparisons with other programs, and experiments. Not part of the wheel."""
