"""`make bench-peers`: this engine beside mlx-lm and transformers, each in a process of its own."""
