"""Comparisons made from the screen: planned, run, judged, kept, exported."""
