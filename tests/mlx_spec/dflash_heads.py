"""Heads that draft blocks for the target of `heads.py`: random ones, and ones trained on its texts."""

from dataclasses import replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten, tree_map
from mlx_lm.models.qwen3 import ModelArgs

from mlx_spec.drafters.dflash_head import DFlashHead, DFlashShape
from tests.mlx_spec.equations import DFlash, Sizes, arrays
from tests.mlx_spec.heads import states_of, target
from tests.mlx_spec.tiny_models import VOCAB, fitted, settled

MASK, BLOCK, SIZES = VOCAB - 1, 5, Sizes(heads=4, kv_heads=2)
ARGS = ModelArgs("qwen3", 32, 2, 64, 4, 1e-5, VOCAB, 2, 512, 8, False, 10000.0)
SHAPE = DFlashShape(ARGS, (0, 1, 2), tuple(range(VOCAB)), MASK, BLOCK, (None, None), (False, False))
SECOND = replace(SHAPE, kernel=(2, 8), selector=(4, 8))
DSPARK = replace(SHAPE, markov_rank=8, from_anchor=True)


def random_head(shape: DFlashShape, seed: int = 5) -> DFlashHead:
    """A random head; no norm's weight is one."""
    head, keys = DFlashHead(shape, target()), iter(mx.random.split(mx.random.key(seed), 80))
    settled(head, seed, spread=0.7)
    head.update(tree_map(lambda x: x + 0.2 * mx.random.normal(x.shape, key=next(keys)), head.parameters()))
    return head


class Whole:
    """In place of a cache: all keys of right-aligned texts, the first `lengths` of them meaningless."""

    offset = 0

    def __init__(self, missing: mx.array):
        self._missing = missing[:, None, None, None]

    def update_and_fetch(self, keys: mx.array, values: mx.array) -> tuple[mx.array, mx.array]:
        return keys, values

    def make_mask(self, count: int, return_array: bool = False, window_size: int | None = None) -> mx.array:
        places = mx.arange(count)
        return (places[None, None, None] >= self._missing) & (places[:, None] >= places)[None, None]


def trained(shape: DFlashShape, texts: list[list[int]], first: int, rounds: int) -> DFlashHead:
    """A head trained to guess what follows each position of these texts, from `first` on."""
    head = settled(DFlashHead(shape, target()), 5, spread=1.0)
    assert isinstance(head, DFlashHead)
    return taught(head, texts, [states_of(text) for text in texts], first, rounds)


def taught(
    head: DFlashHead, texts: list[list[int]], read: list[list[mx.array]], first: int, rounds: int
) -> DFlashHead:
    """Train the head so; `read` are the outputs of its target's tapped layers for each text."""
    shape, room = head.shape, head.shape.room
    length = len(texts[0]) - room
    ends = mx.arange(first, length)
    states: Any = [mx.concatenate(list(each)) for each in zip(*read, strict=True)]
    shifts = mx.maximum(mx.arange(length)[None] - (length - ends[:, None]), 0)
    ids, labels = [], []
    for text in texts:
        for end in ends.tolist():  # type: ignore[union-attr]
            masks = [shape.mask] * (room - shape.from_anchor)
            ids.append([0] * length + [text[end], *masks])
            labels.append(text[end + 1 : end + 1 + room])
    missing = mx.tile(length - ends, len(texts))
    given, wanted = mx.array(ids), mx.array(labels)

    def loss() -> mx.array:
        features = head.features(states)
        hidden = mx.concatenate([features[i][shifts] for i in range(len(texts))])
        cache = [Whole(missing)] * shape.args.num_hidden_layers
        rows = head(given, cache, hidden)[:, -room:]
        logits = head.guesses(rows)
        before = mx.concatenate([given[:, length : length + 1], wanted[:, :-1]], axis=1)
        if shape.markov_rank:
            logits = logits + head.markov_head(before)
        if shape.selector:  # over all tokens, or it would learn only a few
            choice = head.candidate_selector
            edges = choice.predecessor_codebook(before) * choice.hidden_projection(rows)
            logits = logits + edges @ choice.successor_codebook.weight.T
        return nn.losses.cross_entropy(logits, wanted, reduction="mean")

    fitted(head, loss, rounds, 4e-3)
    return head


def by_hand(head: DFlashHead, **more: Any) -> DFlash:
    """The head by its equations, in numpy."""
    weights = arrays(dict(tree_flatten(head.parameters())))  # type: ignore[arg-type]
    table = arrays({"rows": target().model.embed_tokens.weight})["rows"]  # type: ignore[union-attr]
    weights = {name.replace("_codebook.weight", "_codebook"): x for name, x in weights.items()}
    top = head.shape.selector[1] if head.shape.selector else 0
    return DFlash(weights, table, table, SIZES, MASK, head.shape.from_anchor, top=top, **more)
