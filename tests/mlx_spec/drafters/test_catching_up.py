"""A drafter that missed the prompts of a batch reads them piece by piece, while the texts are written on."""

import pytest

from mlx_spec import Options
from mlx_spec.arrays import Length
from mlx_spec.drafters import model
from mlx_spec.drafters.model import ModelDrafter
from tests.mlx_spec.tiny_models import engine_of, prompt, text, tiny_llama, together, tokens


def test_a_batch_is_caught_up_with_in_pieces_and_then_drafted(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(model, "AT_ONCE", 16)
    engine = engine_of(tiny_llama(), tiny_llama(layers=1), context_limit=200)
    prompts = [prompt(count, count) for count in (90, 60, 75, 80)]
    options = Options(max_tokens=28, drafter="model", draft_length=2)
    rounds = together(engine, prompts, [options] * 4)
    for ids, read in zip(prompts, rounds, strict=True):
        first = next(i for i, each in enumerate(read) if each.drafted)
        assert 10 < first < 20, "177 tokens were missed, and each round adds one to each text"
        assert tokens(read) == text(engine, ids, max_tokens=28, drafter="none")


def test_what_it_has_to_read_is_that_of_all_texts():
    drafter = ModelDrafter(tiny_llama(layers=1))
    drafter.rearrange([0, 0, 0])
    texts = [prompt(count, count) for count in (40, 10)]
    drafter.begin([*texts, []], [[]] * 3)
    assert [each.behind for each in drafter.candidates(Length.exact(40))] == [40 - 2 + 10 - 2]
