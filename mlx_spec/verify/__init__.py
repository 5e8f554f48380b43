"""Verification: pure rules, noise, sampling."""
