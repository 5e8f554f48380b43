"""Training of the built-in pair: corpus, tokenizer, target, distilled draft, export.

The only place in this project that imports torch; nothing else in `models` imports it.
"""
