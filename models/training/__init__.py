"""Making a drafter for a target on this machine: what `mlx-spec train` does."""
