"""From files on disk to a running engine."""
