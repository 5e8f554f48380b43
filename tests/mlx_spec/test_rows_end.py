"""Rows that end by an error."""

import pytest

from mlx_spec import Options, SpecError
from mlx_spec.target.cache import Buffer
from mlx_spec.target.model import Model
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, text, tiny_llama, together, tokens


def test_after_an_error_no_text_of_the_batch_goes_on_without_its_rows(monkeypatch):
    engine = engine_of(one_layer(), context_limit=512)
    rows, honest = engine.rows(), Model.read
    rows.add(prompt(9), Options(max_tokens=20))
    while not rows.step():
        continue

    def out_of_memory(self, *given):
        honest(self, *given)
        self.drop()  # as it does itself if its pass fails
        raise RuntimeError("[malloc] Unable to allocate")

    monkeypatch.setattr(Model, "read", out_of_memory)
    rows.add(prompt(90, 1), Options())
    with pytest.raises(RuntimeError):
        while True:
            rows.step()
    monkeypatch.setattr(Model, "read", honest)
    with pytest.raises(SpecError, match="by an error"):
        rows.step()


@pytest.mark.parametrize("which", [2, 4])
def test_a_batch_that_cannot_grow_for_lack_of_memory_leaves_the_engine_usable(monkeypatch, which):
    """Layers of the target, then of the draft model, hold as many texts as before or as after."""
    engine = engine_of(tiny_llama(), nearly(tiny_llama), context_limit=512)
    drafted, honest, left = (
        {"max_tokens": 8, "drafter": "model", "draft_length": 2},
        Buffer.rearrange,
        [which],
    )
    wanted = [text(engine, prompt(9, i), **drafted) for i in range(2)]

    def out_of_memory(self, order):
        left[0] -= 1
        if left[0] == 0:
            raise RuntimeError("[malloc] Unable to allocate")
        honest(self, order)

    monkeypatch.setattr(Buffer, "rearrange", out_of_memory)
    with pytest.raises(RuntimeError):
        together(engine, [prompt(9, i) for i in range(2)], [Options(**drafted)] * 2)
    for count in (1, 2) if which == 2 else (2, 1):
        found = together(engine, [prompt(9, i) for i in range(count)], [Options(**drafted)] * count)
        assert [tokens(rounds) for rounds in found] == wanted[:count]
