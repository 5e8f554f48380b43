"""The terminal app. Imports no MLX: the engine is another process, and only plain values come from it."""
