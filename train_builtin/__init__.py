"""Training of the built-in pair: corpus, tokenizer, target, distilled draft, export.

Only this package and `benchmarks.peers.transformers_side` import torch.
"""
