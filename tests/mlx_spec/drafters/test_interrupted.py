"""A drafter that is interrupted, raises or asks its engine leaves one that writes and drafts as a new one."""

from collections.abc import Callable

import pytest

from mlx_spec import Engine, Options, SpecError
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.foreign import ByVocabulary
from mlx_spec.drafters.layer_skip import LayerSkipDrafter
from mlx_spec.drafters.lookahead import LookaheadDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.drafters.learnt import LEARNT, PROMPT
from tests.mlx_spec.drafters.test_foreign import Mapped, mirrored
from tests.mlx_spec.grid import grid
from tests.mlx_spec.tiny_models import settled, tiny_llama, tokens


def with_one(make: Callable[[], Drafter], spread: float = 3.0) -> Callable[[], Engine]:
    return lambda: Engine(settled(tiny_llama(0), 0, spread), [make()], context_limit=400)


def skipping() -> Engine:
    target = tiny_llama(0)
    return Engine(target, [LayerSkipDrafter(target, [0])], context_limit=400)


ENGINES: dict[str, Callable[[], Engine]] = {
    **{name: learnt.engine for name, learnt in LEARNT.items()},
    "model": with_one(lambda: ModelDrafter(nearly(tiny_llama))),
    "lookup": with_one(LookupDrafter, spread=0.7),
    "recycling": with_one(RecyclingDrafter, spread=0.7),
    "lookahead": with_one(LookaheadDrafter, spread=0.7),
    "foreign": with_one(lambda: ByVocabulary(mirrored(), Mapped(), 500)),
    "layer_skip": skipping,
}
USUAL = ("eagle", "medusa", "pard", "model", "lookup", "foreign", "layer_skip")
SEAMS = ("candidates", "draft", "observe", "commit")


@pytest.mark.parametrize("name", grid(ENGINES, usual=[(name,) for name in USUAL]))
def test_after_an_interruption_at_any_seam_texts_and_drafts_are_those_of_a_new_engine(name):
    make, options = ENGINES[name], Options(max_tokens=16, drafter=name, draft_length=3)
    fresh = list(make().generate(PROMPT, options))
    assert any(read.accepted for read in fresh)
    engine = make()
    [drafter] = engine.drafters
    for seam, error in zip(SEAMS, (KeyboardInterrupt, ValueError) * 2, strict=True):
        honest, calls = getattr(drafter, seam), [0]

        def broken(*given, honest=honest, calls=calls, error=error):
            found = honest(*given)
            calls[0] += 1
            if calls[0] == 3:
                raise error
            return found

        setattr(drafter, seam, broken)
        with pytest.raises(error):
            list(engine.generate(PROMPT[:6], options))
        setattr(drafter, seam, honest)
        again = list(engine.generate(PROMPT, options))
        assert tokens(again) == tokens(fresh), seam
        known = name in ("recycling", "lookahead")  # what they know outlasts an answer
        assert known or [read.drafted for read in again] == [read.drafted for read in fresh], seam


@pytest.mark.parametrize("name", grid(ENGINES, usual=[("model",), ("eagle",), ("recycling",)]))
def test_a_drafter_that_wrote_several_texts_in_another_engine_drafts_as_a_new_one(name):
    make, options = ENGINES[name], Options(max_tokens=16, drafter=name, draft_length=3)
    fresh, before = list(make().generate(PROMPT, options)), make()
    for _ in before.generate_batch([PROMPT, PROMPT[:6], PROMPT[:3]], [options] * 3):
        pass
    engine = Engine(before.target.model, before.drafters, context_limit=400)
    again = list(engine.generate(PROMPT, options))
    assert tokens(again) == tokens(fresh)
    assert [read.drafted for read in again] == [read.drafted for read in fresh]


@pytest.mark.parametrize("seam", SEAMS)
def test_a_drafter_that_asks_its_own_engine_for_scores_gets_a_sentence_and_the_text_stays(seam, monkeypatch):
    engine, options = ENGINES["model"](), Options(max_tokens=16, drafter="model", draft_length=3)
    wanted = tokens(engine.generate(PROMPT, options))
    honest, asked = getattr(engine.drafters[0], seam), list[str]()

    def asking(*given):
        with pytest.raises(SpecError, match="not in a drafter"):
            engine.next_scores(PROMPT[:5], options)
        asked.append(seam)
        return honest(*given)

    monkeypatch.setattr(engine.drafters[0], seam, asking)
    assert tokens(engine.generate(PROMPT, options)) == wanted and asked
