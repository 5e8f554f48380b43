"""Recurrent layers are rewound exactly: the text is mlx-lm's own, and the states are those of a fresh start.

Broken versions that must be caught: states that are not rewound, windows that are not, a state after
one token too many or too few, a draft model that forgets its later steps.
"""

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import Engine, Options
from mlx_spec.target.model import Model
from mlx_spec.target.recording import Moved, Windows
from mlx_spec.target.recurrent import Recomputed, Replayed
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import draft_model, engine_of, prompt, reference, text, tiny_llama, tokens

RECOMPUTED = ["qwen3_next", "qwen3_5", "lfm2", "nemotron_h"]
REPLAYED = ["mamba"]
MORE = ["mamba2", "granitemoehybrid", "falcon_h1", "olmo_hybrid"]
BOTH = pytest.mark.parametrize("name", ["lfm2", "mamba", pytest.param("qwen3_next", marks=pytest.mark.slow)])
"""One of each kind, and the one with slots of every kind."""
TOKENS = 18
DRAFTED = {"drafter": "model", "draft_length": 3, "max_tokens": TOKENS}
IDS = prompt(13, 2)


def pair(name: str, noise: float = 0.02) -> Engine:
    return engine_of(build(name), nearly(lambda seed: build(name, seed), noise=noise), context_limit=2048)


def states(model: Model, at: int) -> list[np.ndarray]:
    assert model._history is not None and model._history.resume(at) == at
    return [np.array(x) for slots in model._history.now.after(0) for x in slots]


@pytest.mark.parametrize(
    "name", RECOMPUTED + REPLAYED + [pytest.param(name, marks=pytest.mark.slow) for name in MORE]
)
def test_text_is_that_of_mlx_lm_and_states_those_of_a_fresh_start(name):
    engine = pair(name, noise=0.1)
    target, draft = engine.target, draft_model(engine)
    assert target._history is not None
    assert name in MORE or isinstance(target._history.now, Recomputed if name in RECOMPUTED else Replayed)
    wanted = reference(target.model, IDS, TOKENS)
    assert len(set(wanted)) > 10, "a text that repeats one token proves nothing"
    assert text(engine, IDS, max_tokens=TOKENS, drafter="none") == wanted
    accepted = set()
    for length in (1, 4):
        rounds = list(engine.generate(IDS, Options(max_tokens=TOKENS, drafter="model", draft_length=length)))
        assert tokens(rounds) == wanted
        accepted |= {r.accepted / len(r.drafted) for r in rounds if r.drafted}
    assert len(accepted) > 1, "rounds that all accept alike prove nothing"
    for model in (target, draft):
        fresh = Model(model.model)
        fresh.prefill(IDS + wanted, model.seen[0])
        ours, theirs = states(model, model.seen[0]), states(fresh, model.seen[0])
        for a, b in zip(ours, theirs, strict=True):
            assert np.abs(a - b).max() < 1e-4 * max(1.0, np.abs(b).max())


def test_a_recurrent_model_drafts_for_one_with_attention_and_the_other_way_round():
    for target, draft in ((tiny_llama(0), build("lfm2")), (build("lfm2"), tiny_llama(0))):
        engine = engine_of(target, draft, context_limit=2048)
        assert text(engine, IDS, **DRAFTED) == reference(target, IDS, TOKENS)


@pytest.mark.parametrize(("name", "think"), [("mamba", []), ("lfm2", [7, 8])])
def test_every_turn_goes_on_where_the_last_one_ended(name, think):
    """Also where a chat template drops earlier marks that ended a prompt, such as `<think>`."""
    engine, conversation = pair(name), []
    for turn in range(3):
        conversation += prompt(40, 30 + turn)
        out = text(engine, conversation + think, max_tokens=8, drafter="model", draft_length=1 + turn)
        assert out == reference(engine.target.model, conversation + think, 8)
        if turn:
            read_again = 10 + 16 if think else 1
            assert engine.stats([]).cached_tokens >= len(conversation) - 40 - read_again
        conversation += out[len(think) :]


@BOTH
def test_a_stop_anywhere_in_a_round_leaves_a_state_to_go_on_from(name):
    engine = pair(name)
    model, places = engine.target.model, set()
    wanted = reference(model, IDS, TOKENS)
    for token in wanted[2::4]:
        upto = wanted[: wanted.index(token) + 1]
        options = {**DRAFTED, "draft_length": 4, "stop_tokens": frozenset([token])}
        rounds = list(engine.generate(IDS, Options(**options)))
        assert tokens(rounds) == upto
        places.add(len(rounds[-1].tokens))
        later = IDS + upto + [5, 6]
        drafted = text(engine, later, max_tokens=6, drafter="model", draft_length=3)
        assert drafted == reference(model, later, 6)
        assert engine.stats([]).cached_tokens >= len(later) - 4
    assert len(places) > 1, "the stop fell on one place of a round only"


@BOTH
def test_cancelling_at_any_round_leaves_the_next_turn_right(name):
    engine = pair(name)
    for read in range(4):
        rounds = engine.generate(prompt(1), Options(**DRAFTED))
        kept = [t for _ in range(read) for t in next(rounds).tokens]
        if read % 2:
            del rounds
        again = prompt(1) + kept + [3, 4]
        wanted = reference(engine.target.model, again, 8)
        assert text(engine, again, max_tokens=8, drafter="model", draft_length=3) == wanted


@BOTH
def test_a_changed_turn_goes_on_from_the_last_place_kept(name):
    engine = pair(name)

    def checked(ids: list[int], **options) -> int:
        """How many tokens were cached."""
        assert text(engine, ids, **options) == reference(engine.target.model, ids, TOKENS)
        return engine.stats([]).cached_tokens

    second = IDS + text(engine, IDS, **DRAFTED) + prompt(20, 3)
    checked(second, **DRAFTED)
    assert checked(second, max_tokens=TOKENS) >= len(second) - 16, "asking again reads nothing twice"
    changed = second[:-3] + [1, 2, 3, 4]
    assert len(second) - 16 <= checked(changed, **DRAFTED) <= len(second) - 3
    engine.forget()
    assert checked(changed, **DRAFTED) == 0


def not_rewound(self, _):
    return tuple(tuple(slot.end for slot in slots) for slots in self._slots)


def one_further(self, count, honest=Recomputed.after):
    return honest(self, mx.minimum(mx.array([0]) + count + 1, self.rows))


def one_less(self, count, honest=Recomputed.after):
    return honest(self, mx.maximum(mx.array([0]) + count - 1, 0))


def slot_not_rewound(slot, *place):
    return slot.end


def nothing_read(stretch, count):
    return stretch._end


@pytest.mark.parametrize(
    ("name", "owner", "mutant"),
    [
        ("lfm2", Recomputed, not_rewound),
        ("lfm2", Recomputed, one_further),
        ("lfm2", Recomputed, one_less),
        ("qwen3_next", Moved, slot_not_rewound),
        ("qwen3_next", Windows, slot_not_rewound),
        ("mamba", Replayed, nothing_read),
    ],
)
def test_mutant_states_of_the_wrong_place_are_caught(name, owner, mutant, monkeypatch):
    engine = pair(name, noise=0.2)
    monkeypatch.setattr(owner, "after", mutant)
    assert text(engine, IDS, **DRAFTED) != reference(engine.target.model, IDS, TOKENS)


def test_mutant_draft_steps_that_cannot_be_rewound_into_are_caught(monkeypatch):
    engine = pair("lfm2", noise=0.2)
    monkeypatch.setattr(Model, "follow", Model.forward)
    with pytest.raises(AssertionError, match="begins before"):
        text(engine, IDS, **DRAFTED)
