"""Who drafts, and how long. No arrays of MLX."""
