"""A real model on real prompts: `python -m benchmarks.real`."""
