"""A drafter that rests says what it would have drafted: right, and without touching the text."""

from collections.abc import Sequence

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec.arrays import Draft, Length, Output, Pass
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.engine import Engine
from mlx_spec.types import Options, Round
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier
from tests.mlx_spec.tiny_models import engine_of, nearly, tiny_llama

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
TOKENS = 40


class Asking:
    """Plans plain rounds, after every few a review or, by turns, a draft."""

    def __init__(self, every: int):
        self.every = every
        self.rounds = 0
        self.said: list[tuple[int, list[bool]]] = []
        self.accepted: list[tuple[int, int]] = []
        self.read = 0

    def begin(self) -> None:
        self.rounds = 0

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        asked = [candidate for candidate in candidates if candidate.drafter == "model"]
        if self.rounds < self.every:
            return NO_CANDIDATE, 0
        return asked[0], 0 if len(self.said) <= len(self.accepted) else 3

    def count(self, read: Round, candidate: Candidate, length: int) -> None:
        self.rounds = 0 if candidate != NO_CANDIDATE else self.rounds + 1
        if read.drafted:
            self.accepted.append((read.accepted, len(read.drafted)))

    def shadow(self, candidate: Candidate, right: Sequence[bool]) -> None:
        self.said.append((self.rounds, list(right)))


def spoken(engine: Engine, options: Options, prompt: Sequence[int] = PROMPT) -> list[int]:
    return [token for read in engine.generate(list(prompt), options) for token in read.tokens]


def other() -> nn.Module:
    """Right about every other time."""
    return nearly(tiny_llama, 1, noise=0.3)


def engine_with(draft: str) -> Engine:
    return engine_of(tiny_llama(1), tiny_llama(1) if draft == "same" else other(), context_limit=512)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("prompt", [PROMPT, PROMPT * 6], ids=["short", "far behind"])
def test_reviews_change_nothing_and_a_twin_of_the_target_was_right_every_time(temperature, prompt):
    engine, policy = engine_with("same"), Asking(5)
    plain = spoken(
        engine, Options(max_tokens=TOKENS, temperature=temperature, seed=7, drafter="none"), prompt
    )
    engine.forget()
    engine.controller = policy  # type: ignore[assignment]
    options = Options(max_tokens=TOKENS, temperature=temperature, seed=7, drafter="model")
    assert spoken(engine, options, prompt) == plain
    assert policy.said and all(all(right) for _, right in policy.said)
    assert policy.accepted and all(accepted == drafted for accepted, drafted in policy.accepted)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_a_review_says_of_each_token_what_drafting_it_would_have_shown(temperature):
    """Against drafts of one token before every token of the same text."""
    engine = engine_with("other")
    options = Options(max_tokens=TOKENS, temperature=temperature, seed=3, drafter="none")
    text = PROMPT + spoken(engine, options)
    book = Verifier(options, engine.target.vocab)

    def round_at(tokens: list[int], depth: int) -> tuple[Context, BatchVerifier]:
        context = Context([tokens], mx.array([tokens]), Length.exact(len(tokens)))
        return context, BatchVerifier([book], context.tokens, context.length, depth)

    def drafted(length: int) -> int:
        drafter = ModelDrafter(other())
        drafter.begin([text[:length]], ())
        context, verifier = round_at(text[:length], 1)
        return drafter.draft(context, 1, verifier).tokens.item()  # type: ignore[return-value]

    wanted = [drafted(length) == text[length] for length in range(len(PROMPT), len(text))]
    for count in (1, 4, 11):
        drafter = ModelDrafter(other())
        drafter.begin([text[:-count]], ())
        for end in range(len(text) - count, len(text)):
            context, verifier = round_at(text[:end], 0)
            plain = Draft.none(1)
            output = Output(mx.zeros((1, 1, engine.target.vocab)))
            verdict = verifier.judge(plain, None, output.logits)
            drafter.observe(Pass(mx.array([[text[end - 1]]]), Length.exact(end - 1), plain), output, verdict)
        shadow = drafter.draft(*_zero(round_at(text, 0))).shadow
        assert shadow is not None and shadow.tolist() == [wanted[-count:]]
    assert any(wanted) and not all(wanted)


def _zero(round_: tuple[Context, BatchVerifier]) -> tuple[Context, int, BatchVerifier]:
    return round_[0], 0, round_[1]


def test_lookup_knows_without_being_asked():
    lookup = LookupDrafter()
    text = [1, 2, 3, 4, 5, 6, 7, 8]
    lookup.begin([[*text, 1, 2, 3]], ())
    assert lookup.commit([[*text, 1, 2, 3]]) == [], "the prompt is not the answer"
    assert lookup.commit([[*text, 1, 2, 3, 4]])[0][1] == [True]
    assert [right for _, right in lookup.commit([[*text, 1, 2, 3, 4, 5, 9]])] == [[True], [False]]
    assert lookup.commit([[*text, 1, 2, 3, 4, 5, 9, 10]]) == [], "nothing matches"


def test_what_lookup_drafted_itself_is_counted_once():
    engine, policy = engine_of(tiny_llama(1), context_limit=512), Asking(2)
    engine.controller = policy  # type: ignore[assignment]
    policy.choose = lambda candidates, length: (candidates[0], 2) if candidates else (NO_CANDIDATE, 0)  # type: ignore[method-assign]
    spoken(engine, Options(max_tokens=TOKENS, drafter="lookup"), [1, 2, 3] * 8)
    drafts = len(policy.accepted)
    assert drafts and len(policy.said) <= TOKENS - drafts
