"""A model of mlx-lm with caches that can be rewound."""
