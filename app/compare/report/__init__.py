"""Measurements of all installed pairs on this machine: one JSON and one card to attach to an issue."""
