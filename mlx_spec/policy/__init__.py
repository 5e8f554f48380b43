"""Choice of drafter and draft length. Uses no MLX arrays."""
