"""Which target goes with which draft, what fits this machine, how to get it and load it.

A catalogue of pairs, not of architectures: those are mlx-lm's.
"""
