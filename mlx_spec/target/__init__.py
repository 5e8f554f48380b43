"""A model of mlx-lm with caches that go back."""
