"""Training of the built-in pair: corpus, tokenizer, target, distilled draft, export.

The only part of `models` that imports torch; beside it `benchmarks.peers.transformers_side` does.
"""
