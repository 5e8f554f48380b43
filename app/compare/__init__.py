"""Comparisons of drafting with plain decoding: plan, run, judge, save, export."""
