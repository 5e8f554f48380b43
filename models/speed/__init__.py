"""What decoding speed to expect on a Mac: predictions, never measurements."""
