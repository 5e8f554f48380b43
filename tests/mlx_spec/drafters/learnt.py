"""Drafters trained on a tiny target's continuations of `PROMPT`, and their drafts computed from equations."""

import fcntl
import os
from collections.abc import Callable
from copy import copy
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import numpy as np
from mlx.utils import tree_flatten

from mlx_spec import Engine
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.assistant import AssistantDrafter
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.medusa import MedusaDrafter
from mlx_spec.drafters.pard import PardDrafter
from mlx_spec.drafters.peagle import PEagleDrafter
from tests.mlx_spec import assistant_heads, dflash_heads, heads, medusa_heads, peagle_heads
from tests.mlx_spec.dflash_heads import DSPARK, SECOND, SHAPE, SIZES
from tests.mlx_spec.equations import Eagle, Weights, arrays, llama, states
from tests.mlx_spec.proposals import Proposed, proposed
from tests.mlx_spec.tiny_models import VOCAB, fitted, prompt, text, tiny_llama

PROMPT, LENGTH, MASK, DEPTH = prompt(9, 1), 20, VOCAB - 1, 3
TEMPERATURES, SEED = (0.0, 0.8), 2


@dataclass(frozen=True)
class Learnt:
    """A kind of drafter.

    Args:
        name: as in `Options.drafter`.
        kind: its class; tests put broken ones in its place.
        learn: makes its model, trained on texts of the target for some rounds.
        guesses: its logits `[depth, vocab]` after a text and the tokens drafted, by the equations.
    """

    name: str
    kind: type[Any]
    target: Callable[[], nn.Module]
    learn: Callable[[list[list[int]], int], nn.Module]
    rounds: int
    make: Callable[[type[Any], Any], Drafter]
    guesses: Callable[[Any, list[int], int], tuple[np.ndarray, list[int]]]

    def engine(self, broken: type[Drafter] | None = None) -> Engine:
        return Engine(self.target(), [self.make(broken or self.kind, model(self))], context_limit=400)

    def is_right(self, one: Proposed) -> bool:
        """Whether a round drafted what it should."""
        return one.is_near(*self.guesses(model(self), one.before, len(one.read.drafted)))

    def all_right(self, engine: Engine, ids: list[int] = PROMPT, **options: Any) -> bool:
        rounds = proposed(engine, ids, self.name, **options)
        assert len(rounds) > 2
        return all(map(self.is_right, rounds))

    def known(self, broken: type[Drafter] | None = None) -> list[Proposed]:
        """Rounds of a text that it was trained on."""
        return proposed(self.engine(broken), PROMPT, self.name, max_tokens=LENGTH, draft_length=DEPTH)


@cache
def _model(name: str) -> nn.Module:
    """Trained once for all of pytest's workers."""
    learnt, file = LEARNT[name], Path(os.environ["MLX_SPEC_TESTS_SHARE"]) / f"{name}.safetensors"
    plain = Engine(learnt.target(), context_limit=400)
    written = [text(plain, PROMPT, max_tokens=LENGTH, temperature=t, seed=SEED) for t in TEMPERATURES]
    texts = [PROMPT + each for each in written]
    with file.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not file.exists():
            learnt.learn(texts, learnt.rounds).save_weights(str(file))
    module = learnt.learn(texts, 0)
    module.load_weights(str(file))
    mx.eval(module.parameters())
    return module


def model(learnt: Learnt) -> nn.Module:
    return _model(learnt.name)


def once(make: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """What is made of a trained model, made once: they live as long as the tests."""
    made: dict[int, Any] = {}

    def known(module: Any) -> Any:
        if id(module) not in made:
            made[id(module)] = make(module)
        return made[id(module)]

    return known


@once
def weights_of(module: nn.Module) -> Weights:
    return arrays(dict(tree_flatten(module.parameters())))  # type: ignore[arg-type]


by_equations = once(dflash_heads.by_hand)


@cache
def _target() -> nn.Module:
    return heads.target()


def taps_of(ids: list[int]) -> list[np.ndarray]:
    """Outputs of the tapped layers of the heads' target for all but the last token."""
    return states(weights_of(_target()), ids[:-1], 4, SIZES)[1:4]


def eagle(head: Any, before: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
    equations = Eagle(weights_of(head), weights_of(_target())["model.embed_tokens.weight"], SIZES)
    return equations.draft(taps_of(before), before, depth)


def dflash(head: Any, before: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
    return by_equations(head).draft(taps_of(before), before, depth)


def medusa(head: Any, before: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
    logits = medusa_heads.guesses(head, before)[:depth]
    return logits, logits.argmax(axis=-1).tolist()


def pard(draft: Any, before: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
    """A whole pass over the text and masks."""
    logits = llama(weights_of(draft), before + [MASK] * (depth - 1), 1, SIZES)[-depth:]
    return logits, logits.argmax(axis=-1).tolist()


def learnt_pard(texts: list[list[int]], rounds: int) -> nn.Module:
    rows, wanted, guessing = [], [], []
    for whole in texts:
        for end in range(len(PROMPT), len(whole) - DEPTH):
            rows.append(whole[:end] + [MASK] * (len(whole) - end))
            wanted.append(whole[end : end + DEPTH])
            guessing.append(list(range(end - 1, end - 1 + DEPTH)))
    ids, labels, places = mx.array(rows), mx.array(wanted), mx.array(guessing)
    draft: Any = tiny_llama(7, layers=1)

    def loss() -> mx.array:
        logits = mx.take_along_axis(draft(ids), places[:, :, None], axis=1)
        return nn.losses.cross_entropy(logits, labels, reduction="mean")

    fitted(draft, loss, rounds, 4e-3)
    return draft


def block(name: str, shape: Any, rounds: int) -> Learnt:
    return Learnt(
        name, DFlashDrafter, heads.target,
        lambda texts, rounds: dflash_heads.trained(shape, texts, len(PROMPT), rounds), rounds,
        lambda kind, head: kind(head, name), dflash,
    )  # fmt: skip


def plain(kind: type[Any], head: Any) -> Drafter:
    return kind(head)


LEARNT = {
    each.name: each
    for each in (
        Learnt("eagle", EagleDrafter, heads.target, heads.trained, 60, plain, eagle),
        Learnt("medusa", MedusaDrafter, medusa_heads.target, medusa_heads.trained, 50, plain, medusa),
        Learnt("pard", PardDrafter, tiny_llama, learnt_pard, 25, lambda kind, draft: kind(draft, MASK), pard),
        Learnt(
            "assistant", AssistantDrafter, assistant_heads.target, assistant_heads.trained, 15, plain,
            assistant_heads.by_hand,
        ),
        Learnt(
            "peagle", PEagleDrafter, heads.target, peagle_heads.trained, 60, plain,
            lambda head, before, depth: peagle_heads.by_hand(head, taps_of(before), before, depth),
        ),
        block("dflash", SHAPE, 35),
        block("dflash2", SECOND, 30),
        block("dspark", DSPARK, 35),
    )
}  # fmt: skip


def late_features(kind: type[Any]) -> type[Drafter]:
    """Reads the target's features of the token before."""

    class LateFeatures(kind):
        def _first(self, context):
            features, self._features = self._features, mx.pad(self._features, [(0, 0), (1, 0), (0, 0)])
            p = super()._first(context)
            self._features = features
            return p

    return LateFeatures


def keeps_its_own(kind: type[Any]) -> type[Drafter]:
    """Keeps the rows of its own draft for the tokens accepted there."""

    class KeepsItsOwn(kind):
        reads_again = False
        left = 1

    return KeepsItsOwn


def late_rows(kind: type[Any]) -> type[Drafter]:
    """Guesses each token by the row after its own."""

    class LateRows(kind):
        def _logits(self, output, rows):
            return mx.roll(super()._logits(output, rows), -1, 1)

    return LateRows


def late_state(kind: type[Any]) -> type[Drafter]:
    """Reads the target's state of the token before, or of the first row."""

    class LateState(kind):
        def observe(self, p, output, verdict):
            late = {layer: mx.pad(x, [(0, 0), (1, 0), (0, 0)])[:, :-1] for layer, x in output.hidden.items()}
            super().observe(p, type(output)(output.logits, late), verdict)

    return LateState


def stale_state(kind: type[Any]) -> type[Drafter]:
    """Reads the state of the text's last token before the draft, whatever was accepted."""

    class StaleState(kind):
        def observe(self, p, output, verdict):
            if verdict is not None:
                verdict = type(verdict)(mx.zeros_like(verdict.accepted), verdict.path, verdict.tokens)
            super().observe(p, output, verdict)

    return StaleState


def late_heads(kind: type[Any]) -> type[Drafter]:
    """Each position is guessed by the head of the position before."""

    class LateHeads(kind):
        def __init__(self, head):
            late = copy(head)
            late.heads = [head.heads[i] for i in (0, 0, 1, 2)]
            super().__init__(late)

    return LateHeads


def same_state(kind: type[Any]) -> type[Drafter]:
    """Every step reads the target's last hidden state."""

    class SameState(kind):
        def draft(self, context, depth, verifier):
            hidden = self.head.features([self._state])
            self.head = copy(self.head)
            self.head.post_projection = lambda states: hidden
            return super().draft(context, depth, verifier)

    return SameState


def first_layers(kind: type[Any]) -> type[Drafter]:
    """Reads the target's first layers, not the last of their kind."""

    class FirstLayers(kind):
        def attach(self, target):
            super().attach(target)
            self._buffers["sliding_attention"] = target.buffers[0]

    return FirstLayers


BLOCK_MUTANTS = (late_features, keeps_its_own, late_rows)
MUTANTS: dict[str, tuple[Callable[[type[Any]], type[Drafter]], ...]] = {
    "eagle": (late_features, keeps_its_own),
    "medusa": (late_state, stale_state, late_heads),
    "pard": (keeps_its_own, late_rows),
    "assistant": (late_state, stale_state, same_state, first_layers),
    **dict.fromkeys(("peagle", "dflash", "dflash2", "dspark"), BLOCK_MUTANTS),
}
