"""SmolLM2-135M-Instruct, if it was pulled: its answers, and that no drafter changes them."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlx_spec import Options
from models.load.engine import load
from models.load.medusa import save_medusa
from models.pairs.catalogue import REAL_PAIR, find
from models.pairs.resolve import resolve
from models.paths import shipped_drafters_folder
from models.training.kinds import medusa as medusa_kind

pytestmark = pytest.mark.slow

FILE = Path(find(REAL_PAIR).target.repo)
"""The model's path on this machine: in tests the data folder is empty."""

HEAD = shipped_drafters_folder() / REAL_PAIR


@pytest.fixture(scope="module")
def pair(tmp_path_factory):
    """With a drafter of every kind that needs no draft model, trained or not."""
    if not FILE.exists():
        pytest.skip(f"{FILE} is not here: mlx-spec pull {REAL_PAIR}")
    folder = tmp_path_factory.mktemp("drafters")
    medusa, layer_skip, texts = (folder / name for name in ("medusa", "layer_skip", "texts"))
    for each in (medusa, layer_skip, texts):
        each.mkdir()
    plain: Any = load(resolve(target=str(FILE), draft="none"))
    target = plain.engine.target.model
    kind = medusa_kind(target, {})
    save_medusa(medusa, kind.learner(range(2000)).module, {})  # type: ignore[arg-type]
    (layer_skip / "config.json").write_text(
        json.dumps({"model_type": "layer_skip", "layers": [*range(0, 30, 2)]})
    )
    (texts / "a.txt").write_text(
        "The capital of France is Paris. 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13. Hello! " * 4
    )
    spec = resolve(target=str(FILE), draft="none", drafters=[str(medusa), str(layer_skip), str(HEAD)])
    loaded = load(replace(spec, documents=(str(texts),)))
    wanted = {"lookup", "recycling", "lookahead", "grounded", "eagle", "medusa", "layer_skip"}
    assert wanted <= set(loaded.engine.drafter_names)
    return loaded


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(
    "question", ["What is the capital of France?", "Write the numbers from 1 to 20, then again."]
)
def test_every_drafter_gives_the_plain_text(pair, question, temperature):
    messages = [{"role": "user", "content": question}]
    ids = pair.tokenizer.apply_chat_template(messages, add_generation_prompt=True)

    def answer(drafter: str, length: int | None) -> list[int]:
        options = Options(max_tokens=12, temperature=temperature, seed=3, stop_tokens=pair.stop_tokens,
                          drafter=drafter, draft_length=length)  # fmt: skip
        return [token for each in pair.engine.generate(ids, options) for token in each.tokens]

    plain = answer("none", 0)
    if "France" in question and not temperature:
        assert "Paris" in pair.tokenizer.decode(plain)
    assert answer("auto", None) == plain
    for drafter in pair.engine.drafter_names:
        assert answer(drafter, 3) == plain, drafter
