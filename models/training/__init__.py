"""Training a drafter for a target on this machine: `mlx-spec train`."""
