"""A draft model that reads the text in tokens of its own: no text changes, and it drafts what it should."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec import Engine, Options
from mlx_spec.calibrate import Calibration
from mlx_spec.drafters import Texts, foreign
from mlx_spec.drafters.foreign import ByText, ByVocabulary, ForeignDrafter, Transcript, Translator
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.errors import UnsupportedModel
from mlx_spec.verify.batch import BatchVerifier
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.grid import grid
from tests.mlx_spec.model_types import build
from tests.mlx_spec.tiny_models import VOCAB, prompt, ragged, reference, text, tiny_llama, tokens
from tests.mlx_spec.verify.test_sampled_text import deviation, few_tokens

STRANGE = range(0, VOCAB, 29)
"""Target tokens that are two tokens of the draft."""
BASE = 12
"""Base of the digits that `Digits` translates target tokens to."""


class Whole(Transcript):
    """Translates the whole text each time."""

    def __init__(self, translator: "Mapped"):
        self._by, self._text = translator, list[int]()

    def unread(self, tokens: Sequence[int]) -> int:
        return len(tokens) - len(self._text)

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        self._text = list(tokens)
        return [own for token in tokens for own in self._by.spelled(token)]

    def to_target(self, drafted: Sequence[int]) -> list[int]:
        return self._by.joined(drafted)


class Mapped(Translator):
    """The draft's ids count from the end of the vocabulary, and lack the `STRANGE` tokens."""

    fertility = 1.0

    def __init__(self, vocab: int = VOCAB):
        self._last = vocab - 1
        # Some ids are beyond the target's rows.
        known = [token for token in range(self._last + 10) if token not in STRANGE]
        self.shared = known, [abs(self._last - token) for token in known]

    def transcript(self) -> Whole:
        return Whole(self)

    def spelled(self, token: int) -> list[int]:
        last = self._last
        return [last - token] if token not in STRANGE else [last, last - token // 29]

    def joined(self, drafted: Sequence[int]) -> list[int]:
        return [self._last - token for token in drafted]


class Digits(Mapped):
    """Each target token is two digits of the draft."""

    fertility = 2.0

    def spelled(self, token: int) -> list[int]:
        return [token // BASE, token % BASE]

    def joined(self, drafted: Sequence[int]) -> list[int]:
        return [a * BASE + b for a, b in zip(drafted[::2], drafted[1::2], strict=False)]


def mirrored(noise: float = 0.05) -> Any:
    """Nearly the target, with ids counted from the end."""
    model: Any = nearly(tiny_llama, noise=noise)
    model.model.embed_tokens.weight = model.model.embed_tokens.weight[::-1]
    if "lm_head" in model:
        model.lm_head.weight = model.lm_head.weight[::-1]
    return model


LIMIT = 500
"""Of contexts."""
KINDS = {
    "vocabulary": lambda: ByVocabulary(mirrored(), Mapped(), LIMIT),
    "text": lambda: ByText(mirrored(), Mapped(), LIMIT),
    "digits": lambda: ByText(tiny_llama(3, vocab=BASE), Digits(), LIMIT),
}


def engine_with(drafter: ForeignDrafter) -> Engine:
    return Engine(tiny_llama(0), [LookupDrafter(), drafter], context_limit=LIMIT)


@pytest.mark.parametrize(
    ("kind", "temperature"),
    grid(KINDS, (0.0, 0.8), usual=[("vocabulary", 0.8), ("text", 0.8), ("digits", 0.0)]),
)
def test_the_text_is_the_plain_one_at_every_length_and_in_later_turns(kind, temperature):
    engine, ids, accepted = engine_with(KINDS[kind]()), prompt(30, 3), []
    options = {"max_tokens": 9 if kind == "digits" else 18, "temperature": temperature, "seed": 2}
    for length in (1, 9, None):
        rounds = list(engine.generate(ids, Options(drafter="foreign", draft_length=length, **options)))
        assert tokens(rounds) == text(engine, ids, drafter="none", **options)
        ids = ids + tokens(rounds) + prompt(3, length or 0)
        accepted += [each.accepted for each in rounds if each.drafted]
    assert accepted and (kind == "digits" or sum(accepted) > 3), "drafts that are all wrong prove little"


def test_a_target_that_drafts_for_itself_through_another_vocabulary_is_accepted_except_for_tokens_it_lacks():
    engine, ids = (
        engine_with(ByVocabulary(mirrored(0.0), Mapped(), LIMIT)),
        [t for t in prompt(40, 4) if t not in STRANGE],
    )
    for options in ({"temperature": 0.0}, {"temperature": 0.9, "seed": 5}):
        whole = text(engine, ids, drafter="none", max_tokens=60, **options)
        count = next((i for i, token in enumerate(whole) if token in STRANGE), 60)
        rounds = list(
            engine.generate(
                ids,
                Options(max_tokens=count, drafter="foreign", draft_length=3, **options),  # type: ignore[arg-type]
            )
        )
        assert tokens(rounds) == whole[:count]
        full = [each for each in rounds[1:-1] if each.drafted]
        assert full and all(each.accepted == len(each.drafted) for each in full)


def test_only_rows_of_shared_tokens_are_computed_where_the_last_layer_can_be_told():
    known, unclear = mirrored(), mirrored()
    unclear.one, unclear.another = nn.Linear(32, VOCAB), nn.Linear(32, VOCAB)
    options, drafted = Options(max_tokens=10, drafter="foreign", draft_length=3), []
    for model in (known, unclear):
        engine = engine_with(ByVocabulary(model, Mapped(), LIMIT))
        drafted.append([each.drafted for each in engine.generate(prompt(30, 3), options)])
    assert any(drafted[0]) and drafted[0] == drafted[1]
    assert len(known.model.embed_tokens.few.weight) == VOCAB - len(STRANGE)


@pytest.mark.parametrize(("kind", "count"), [("text", 32), ("digits", 9)])
def test_it_drafts_what_whole_passes_without_a_cache_draft_after_any_acceptance(kind, count):
    drafter, by = KINDS[kind](), Digits() if kind == "digits" else Mapped()
    engine, ids = engine_with(drafter), prompt(30, 3)
    before, drafted = list(ids), 0
    for each in engine.generate(ids, Options(max_tokens=count, drafter="foreign", draft_length=3)):
        if each.drafted:
            wanted = by.joined(greedy(drafter.cached.model, Whole(by).to_draft(before), 3 * by.fertility))
            assert list(each.drafted) == wanted[: len(each.drafted)]
            assert len(each.drafted) == 3 or len(before) > 25 + count
        before += each.tokens
        drafted += bool(each.drafted)
    assert drafted > 2


def greedy(model: Any, ids: list[int], count: float) -> list[int]:
    drafted: list[int] = []
    while len(drafted) < count:
        drafted.append(int(mx.argmax(model(mx.array([ids + drafted]))[0, -1])))
    return drafted


def stale(self: ForeignDrafter, texts: Texts, documents: Any, honest: Any = ForeignDrafter.begin) -> None:
    """Mutant: rows of rejected tokens count as read."""
    honest(self, texts, documents)
    self.cached.resume = lambda tokens, limit, sequence=0: min(limit, self.cached.seen[sequence])  # type: ignore[method-assign]


def test_a_draft_that_keeps_rows_of_rejected_tokens_is_caught(monkeypatch):
    monkeypatch.setattr(ForeignDrafter, "begin", stale)
    with pytest.raises(AssertionError):
        test_it_drafts_what_whole_passes_without_a_cache_draft_after_any_acceptance("text", 32)


@pytest.mark.parametrize("kind", ["vocabulary", "digits"])
def test_three_ragged_texts_are_those_of_single_runs(kind):
    ragged(engine_with(KINDS[kind]()), "foreign")


@pytest.mark.parametrize("rule", [pytest.param("token", marks=pytest.mark.slow), "block"])
def test_the_rules_that_need_the_drafts_distribution_keep_the_targets(rule):
    drafter = ByVocabulary(few_tokens(18), Mapped(6), LIMIT)
    assert deviation(rule, "foreign", more=[drafter]) < 4


def test_a_distribution_over_the_drafts_own_ids_is_caught(monkeypatch):
    honest = BatchVerifier.propose

    def propose(self, logits, index, drafted):
        ids, q = honest(self, logits, index, drafted)
        return ids, None if q is None else mx.concatenate([q[..., :1], q[..., :0:-1]], axis=-1)

    monkeypatch.setattr(BatchVerifier, "propose", propose)
    assert deviation("token", "foreign", more=[ByVocabulary(few_tokens(18), Mapped(6), LIMIT)]) > 6


class Silent(Mapped):
    """No text can be translated, as if each ended in the middle of a character."""

    def spelled(self, token: int) -> list[int]:
        return []


class Wild(Digits):
    """Translates drafts to ids outside the vocabulary."""

    def joined(self, drafted: Sequence[int]) -> list[int]:
        return [10**6, -5]


@pytest.mark.parametrize(
    ("drafter", "drafted"),
    [
        (ByVocabulary(mirrored(), Silent(), LIMIT), set()),
        (ByText(tiny_llama(3, vocab=BASE), Wild(), LIMIT), {10**6, -5}),
    ],
)
def test_without_a_translation_or_with_ids_out_of_range_the_text_is_the_plain_one(drafter, drafted):
    engine, ids = engine_with(drafter), prompt(12, 1)
    rounds = list(engine.generate(ids, Options(max_tokens=12, drafter="foreign", draft_length=3)))
    assert tokens(rounds) == reference(engine.target.model, ids, 12)
    assert {token for each in rounds for token in each.drafted} == drafted


class Padded(Mapped):
    """A tokenizer with tokens that its model lacks."""

    def __init__(self, strange: int):
        super().__init__()
        self._strange = strange

    def spelled(self, token: int) -> list[int]:
        return [self._strange] if token in STRANGE else super().spelled(token)


def test_ids_that_the_draft_model_lacks_are_read_as_its_last_one():
    drafted, options = [], Options(max_tokens=12, drafter="foreign", draft_length=3)
    for strange in (VOCAB - 1, VOCAB + 5000):
        engine = engine_with(ByText(mirrored(), Padded(strange), LIMIT))
        drafted.append([each.drafted for each in engine.generate([*STRANGE, *prompt(9, 3)], options)])
    assert any(drafted[0]) and drafted[0] == drafted[1]


class Broken(Whole):
    """Three texts in four end in the middle of a character."""

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        return super().to_draft(tokens) if len(tokens) % 4 == 3 else []


def test_a_text_that_can_be_translated_in_some_rounds_only_is_measured_all_the_same(monkeypatch):
    monkeypatch.setattr(Mapped, "transcript", lambda translator: Broken(translator))
    calibration = Calibration(engine_with(ByText(mirrored(), Mapped(), LIMIT)))
    for _ in calibration.run(60.0):
        if len(calibration.times) > 4:
            break
    assert any(times for kind, times in calibration.times.items() if kind.drafter == "foreign")


def test_beyond_its_context_it_reads_the_first_token_and_the_end(monkeypatch):
    limited = ByVocabulary(mirrored(), Mapped(), context_limit=40)
    engine, ids, resume, read = engine_with(limited), prompt(90, 3), limited.cached.resume, []

    def reads(tokens, limit, sequence=0):
        read.append(tokens)
        return resume(tokens, limit, sequence)

    monkeypatch.setattr(limited.cached, "resume", reads)
    rounds = list(engine.generate(ids, Options(max_tokens=44, drafter="foreign", draft_length=3)))
    whole = tokens(rounds)
    assert whole == reference(engine.target.model, ids, 44)
    whole = Whole(Mapped()).to_draft(ids + whole)
    for first, *end in read:
        assert first == whole[0] and 10 <= len(end) < 30
        assert any(whole[place : place + len(end)] == end for place in range(1, len(whole), 20))
    assert sum(a[1:3] != b[1:3] for a, b in pairwise(read)) <= 4, "it seldom moves on"
    assert all(each.drafted for each in rounds[2:-1])


def test_a_recurrent_draft_is_refused():
    with pytest.raises(UnsupportedModel, match="rewind to a few places only"):
        ByVocabulary(build("mamba"), Mapped(), LIMIT)


def test_a_long_text_is_read_in_chunks_and_drafted_in_step(monkeypatch):
    monkeypatch.setattr(foreign, "LONG_LAG", 4)
    test_it_drafts_what_whole_passes_without_a_cache_draft_after_any_acceptance("text", 32)
