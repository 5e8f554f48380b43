"""SmolLM2-135M-Instruct itself, where it was pulled: what it says, and that no drafter changes a word."""

from pathlib import Path

import pytest

from mlx_spec import Options
from models.load.engine import load
from models.pairs.catalogue import REAL_PAIR, find
from models.pairs.resolve import resolve

pytestmark = pytest.mark.slow

FILE = Path(find(REAL_PAIR).target.repo)
"""Where this machine has it: while tests run, its data folder is an empty one."""


@pytest.fixture(scope="module")
def pair():
    if not FILE.exists():
        pytest.skip(f"{FILE} is not here: mlx-spec pull {REAL_PAIR}")
    return load(resolve(target=str(FILE), draft="none"))


@pytest.mark.parametrize("temperature", [0.0, 0.8])
@pytest.mark.parametrize(
    "question",
    ["What is the capital of France?", "Write the numbers from 1 to 20, then again.", "Say hello."],
)
def test_every_drafter_gives_the_plain_text(pair, question, temperature):
    messages = [{"role": "user", "content": question}]
    ids = pair.tokenizer.apply_chat_template(messages, add_generation_prompt=True)

    def answer(drafter: str, length: int | None) -> list[int]:
        options = Options(max_tokens=24, temperature=temperature, seed=3, stop_tokens=pair.stop_tokens,
                          drafter=drafter, draft_length=length)  # fmt: skip
        return [token for each in pair.engine.generate(ids, options) for token in each.tokens]

    plain = answer("none", 0)
    if "France" in question and not temperature:
        assert "Paris" in pair.tokenizer.decode(plain)
    for drafter in ("auto", *pair.engine.drafter_names):
        for length in (None, 3):
            assert answer(drafter, length) == plain, (drafter, length)
