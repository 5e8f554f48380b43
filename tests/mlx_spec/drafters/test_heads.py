"""Heads on hidden states one by one: their vocabularies, output rows and shadow drafts."""

from typing import Any

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.dflash import DFlashDrafter
from mlx_spec.drafters.eagle import EagleDrafter
from mlx_spec.drafters.eagle_head import EagleHead
from mlx_spec.drafters.features import WAITING
from mlx_spec.drafters.medusa import MedusaDrafter
from mlx_spec.drafters.medusa_head import final_norm, medusa_taps
from mlx_spec.drafters.peagle import PEagleDrafter
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from mlx_spec.target.model import Model
from mlx_spec.timer import Timer
from tests.mlx_spec import dflash_heads, heads, medusa_heads, peagle_heads
from tests.mlx_spec.architectures import ARCHITECTURES
from tests.mlx_spec.drafters.learnt import LEARNT, PROMPT
from tests.mlx_spec.heads import KNOWN, Uneven, drafts
from tests.mlx_spec.medusa_heads import ranked
from tests.mlx_spec.tiny_models import one_layer, prompt, text


def medusa(**more: Any) -> Engine:
    model = medusa_heads.target()
    return Engine(model, [MedusaDrafter(medusa_heads.head_for(model, **more))], context_limit=400)


@pytest.mark.parametrize("given", [{"shared": True}, {"shared": False}, {"tokens": KNOWN}])
def test_medusa_heads_may_share_their_output_rows_or_not_and_know_few_tokens(given: dict[str, Any]) -> None:
    engine: Any = medusa(**given)
    found = drafts(engine, PROMPT, "medusa", max_tokens=12, draft_length=4)
    assert len(found) > 3
    for before, drafted in found:
        best = [tokens[0] for tokens in ranked(engine.drafters[0].head, before)]
        assert list(drafted) == best[: len(drafted)]


def test_a_head_that_did_not_draft_gives_shadow_results(monkeypatch: pytest.MonkeyPatch) -> None:
    """The controller asks for shadow drafts of the latest tokens."""
    monkeypatch.setattr(Timer, "lap", lambda _: (0.005, False))  # whatever this machine takes
    engine: Any = Engine(heads.target(), [UNTRAINED["eagle"]()], context_limit=400)
    # Drafting pays if more is accepted than is assumed.
    dear = {k: RoundCost(0.005 * rounds) for k, rounds in {1: 1.8, 2: 2.2, 3: 2.5, 7: 3.4}.items()}
    controller: Any = Controller(Costs(RoundCost(0.005), {"eagle": dear}))
    asked: list[str] = []
    shadow = controller.shadow
    controller.shadow = lambda t, c, right: (asked.append(c.drafter), shadow(t, c, right))[1]
    engine.controller = controller
    text(engine, PROMPT, max_tokens=24, drafter="eagle")
    assert "eagle" in asked


def features_made(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The rows of each time that the head's features are made."""
    rows: list[int] = []
    make = EagleHead.features
    monkeypatch.setattr(
        EagleHead, "features", lambda s, states: (rows.append(states[0].shape[1]), make(s, states))[1]
    )
    return rows


def test_features_of_plain_rounds_are_made_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each time takes a pass over the weights that make them, and is one more operation of a plain round."""
    learnt = LEARNT["eagle"]
    engine = learnt.engine()
    engine.controller = Uneven([*[0] * (WAITING + 7), 3, 3, 3, 3, *[0] * 5, 1, 1])  # type: ignore[assignment]
    made = features_made(monkeypatch)
    assert learnt.all_right(engine, max_tokens=2 * WAITING)
    assert made[1:4] == [WAITING, 7, 4], made


def test_features_whose_making_was_interrupted_are_made_later(monkeypatch: pytest.MonkeyPatch) -> None:
    learnt = LEARNT["eagle"]
    engine = learnt.engine()
    engine.controller = Uneven([0])  # type: ignore[assignment]
    begun = text(engine, PROMPT, max_tokens=9)
    with monkeypatch.context() as patch:
        patch.setattr(EagleHead, "features", interrupted)
        with pytest.raises(KeyboardInterrupt):
            text(engine, PROMPT + begun, draft_length=3)
    assert learnt.all_right(engine, PROMPT + begun, max_tokens=20, draft_length=3)


def interrupted(*_: Any) -> None:
    raise KeyboardInterrupt


@pytest.mark.parametrize("name", ARCHITECTURES)
def test_what_medusa_heads_read_is_what_the_targets_own_output_rows_read(name: str) -> None:
    model: Any = ARCHITECTURES[name](0)
    ids = mx.array([prompt(12, 1)])
    wanted = model.model(ids)
    [layer] = medusa_taps(model)
    state = Model(model, taps=[layer]).forward(Pass(ids, Length.exact(0))).hidden[layer]
    assert mx.allclose(final_norm(model)(state), wanted, atol=1e-5)


def test_targets_without_the_layers_that_heads_read_are_refused_by_name() -> None:
    with pytest.raises(UnsupportedModel, match="reads layer 1, and the target has 1 layers"):
        Engine(one_layer(), [EagleDrafter(heads.head_for(one_layer()))], context_limit=400)
    model: Any = one_layer()
    model.model.other_norm = model.model.norm
    with pytest.raises(UnsupportedModel, match="llama has 2 layers that could be its last norm"):
        medusa_taps(model)  # before anything is read for a training


UNTRAINED = {
    "eagle": lambda: EagleDrafter(heads.head_for(heads.target())),
    "dflash": lambda: DFlashDrafter(dflash_heads.random_head(dflash_heads.SHAPE), "dflash"),
    "peagle": lambda: PEagleDrafter(peagle_heads.head_for()),
}


def joins_late(name: str) -> bool:
    """Whether a head drafts the same in a chat begun without it as after a fresh start."""
    joins, fresh = (Engine(heads.target(), [UNTRAINED[name]()], context_limit=400) for _ in range(2))
    text(joins, PROMPT[:6], max_tokens=4, drafter=name, draft_length=3)
    chat = PROMPT + text(joins, PROMPT, max_tokens=12, drafter="none") + PROMPT[:2]
    found, wanted = (drafts(each, chat, name, max_tokens=6, draft_length=3) for each in (joins, fresh))
    assert len(wanted) > 2
    return found == wanted


@pytest.mark.parametrize("name", UNTRAINED)
def test_a_head_that_joins_a_chat_begun_without_it_reads_what_it_missed(name: str) -> None:
    assert joins_late(name)


def test_features_taken_as_read_would_be_wrong(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(EagleDrafter, "reusable", lambda self, tokens, place: len(tokens))
    assert not joins_late("eagle")


@pytest.mark.parametrize("name", UNTRAINED)
def test_of_a_cached_text_nothing_is_read_again_for_a_head_that_forgot_the_answer_before(name: str) -> None:
    """As between a comparison's answers: else the drafted ones alone wait for their whole prompt."""
    engine = Engine(heads.target(), [UNTRAINED[name]()], context_limit=400)
    cached: list[int] = []
    for _ in range(2):
        engine.drafters[0].forget()
        rounds = list(engine.generate(PROMPT, Options(max_tokens=6, drafter=name, draft_length=3)))
        cached.append(engine.stats(rounds).cached_tokens)
    assert cached == [0, len(PROMPT) - 1]
