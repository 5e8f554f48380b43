"""Proving on this machine that drafting does not change the text."""
