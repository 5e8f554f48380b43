"""Shadow drafts are right, and change no text."""

from collections.abc import Collection, Mapping, Sequence

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec.arrays import Draft, Length, Output, Pass
from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.policy.policy import Fixed
from mlx_spec.types import Options, Round
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.tiny_models import engine_of, text, tiny_llama, tokens

PROMPT = [3, 1, 4, 1, 5, 9, 2, 6]
TOKENS = 30


class Asking(Fixed):
    """Plans plain rounds, and after every few of them, in turn, a shadow draft or a draft."""

    def __init__(self, every: int):
        self.every = every
        self.shadows: list[list[bool]] = []
        self.accepted: list[tuple[int, int]] = []

    def begin(self, texts: Collection[int]) -> None:
        self.rounds = 0

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        if self.rounds < self.every:
            return NO_CANDIDATE, 0
        asked = next(candidate for candidate in candidates if candidate.drafter == "model")
        return asked, 0 if len(self.shadows) <= len(self.accepted) else 3

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        self.rounds = 0 if candidate != NO_CANDIDATE else self.rounds + 1
        for each in read.values():
            self.accepted += [(each.accepted, len(each.drafted))] if each.drafted else []

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        self.shadows.append(list(right))


class Copying(Asking):
    """Drafts whenever there is a candidate."""

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        return (candidates[0], 2) if candidates else (NO_CANDIDATE, 0)


def other() -> nn.Module:
    """A draft model that is right about half the time."""
    return nearly(tiny_llama, 1, noise=0.3)


@pytest.mark.parametrize("temperature", [0.0, 0.9])
@pytest.mark.parametrize("prompt", [PROMPT, PROMPT * 6], ids=["short", "far behind"])
def test_shadow_drafts_change_nothing_and_a_copy_of_the_target_is_always_right(temperature, prompt):
    engine, policy = engine_of(tiny_llama(1), tiny_llama(1), context_limit=512), Asking(5)
    options = {"max_tokens": TOKENS, "temperature": temperature, "seed": 7}
    wanted = text(engine, prompt, drafter="none", **options)
    engine.forget()
    engine.controller = policy  # type: ignore[assignment]
    assert text(engine, prompt, drafter="model", **options) == wanted
    assert policy.shadows and all(all(right) for right in policy.shadows)
    assert policy.accepted and all(accepted == drafted for accepted, drafted in policy.accepted)


@pytest.mark.parametrize(("temperature", "rule"), [(0.0, "coupled"), (0.9, "coupled"), (0.9, "block")])
def test_a_shadow_draft_tells_of_each_token_whether_it_would_have_been_drafted(temperature, rule):
    engine = engine_of(tiny_llama(1), context_limit=512)
    options = Options(max_tokens=TOKENS, temperature=temperature, verify=rule, seed=3)
    written = PROMPT + tokens(engine.generate(PROMPT, options))
    book = Verifier(options, engine.target.vocab)

    def after(written: list[int]) -> tuple[Context, BatchVerifier]:
        context = Context([written], mx.array([written]), Length.exact(len(written)))
        return context, BatchVerifier([book], context.tokens, context.length, 0)

    judge = engine_of(other(), context_limit=512)
    guessing = options if rule == "coupled" else Options()  # its noise is used up: the likeliest tokens
    choices = [judge.next_scores(written[:end], guessing) for end in range(len(PROMPT), len(written))]
    wanted = [mx.argmax(x).item() == token for x, token in zip(choices, written[len(PROMPT) :], strict=True)]
    for count in (1, 4, 11):
        drafter = ModelDrafter(other())
        drafter.begin([written[:-count]], [()])
        for end in range(len(written) - count, len(written)):
            context, verifier = after(written[:end])
            plain = Draft.none(1)
            output = Output(mx.zeros((1, 1, engine.target.vocab)))
            verdict = verifier.judge(plain, None, output.logits)
            p = Pass(mx.array([[written[end - 1]]]), Length.exact(end - 1), plain)
            drafter.observe(p, output, verdict)
        context, verifier = after(written)
        shadow = drafter.draft(context, 0, verifier).shadow
        assert shadow is not None and shadow.tolist() == [wanted[-count:]]
    assert any(wanted) and not all(wanted)


def test_lookup_gives_shadow_results_in_every_round():
    lookup = LookupDrafter()
    text = [1, 2, 3, 4, 5, 6, 7, 8]
    lookup.begin([[*text, 1, 2, 3]], [()])
    assert lookup.commit([[*text, 1, 2, 3]]) == [], "the prompt is not the answer"
    assert lookup.commit([[*text, 1, 2, 3, 4]])[0][2] == [True]
    assert [right for _, _, right in lookup.commit([[*text, 1, 2, 3, 4, 5, 9]])] == [[True], [False]]
    assert lookup.commit([[*text, 1, 2, 3, 4, 5, 9, 10]]) == [], "nothing matches"


def test_what_lookup_drafted_itself_is_counted_once():
    engine, policy = engine_of(tiny_llama(1), context_limit=512), Copying(2)
    engine.controller = policy  # type: ignore[assignment]
    text(engine, [1, 2, 3] * 8, max_tokens=TOKENS, drafter="lookup")
    drafts = len(policy.accepted)
    assert drafts and len(policy.shadows) <= TOKENS - drafts
