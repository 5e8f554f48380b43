"""`make bench-peers`: this engine compared with mlx-lm and transformers, each in its own process."""
