"""Drafts by a small model with another tokenizer.

It reads the text in its own tokens. If the vocabularies share most tokens, it guesses among these, its
distribution over them renormalised (TLI: Timor et al. 2025, arXiv 2502.05202, algorithm 4); else it writes
text, which is drafted in the target's tokens (SLEM, algorithm 2 there). The target verifies its own tokens as
always, so a poor translation changes no text.
"""

import math
from abc import abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Protocol, runtime_checkable

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float, Int

from mlx_spec.arrays import Draft, Length, Output, Pass
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context, Drafter, Shadow, Texts
from mlx_spec.drafters.draft_head import restrict_head, spread
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.model import Model
from mlx_spec.verify.batch import BatchVerifier, Chain

CANDIDATE = Candidate("foreign", kind="foreign", prior=0.4, limit=15, host_text=True)
LONG_LAG = 64
"""The most unread tokens that the first step of a draft reads; more are read in chunks before."""
USUAL_LAG = 16
"""The most unread tokens of the target's text if it drafts every round."""
MOST_STEPS = 64
"""The most steps of a draft: written as text, each character may take one."""


@runtime_checkable
class Transcript(Protocol):
    """One text, as the draft model reads it."""

    def unread(self, tokens: Sequence[int]) -> int:
        """Tokens of the target's text that were not translated yet."""
        ...

    def to_draft(self, tokens: Sequence[int]) -> list[int]:
        """A text in the draft model's tokens; empty if it cannot be translated yet."""
        ...

    def to_target(self, drafted: Sequence[int]) -> list[int]:
        """What the draft model wrote after the text that was translated last, in the target's tokens."""
        ...


@runtime_checkable
class Translator(Protocol):
    """Translates between two tokenizers."""

    shared: tuple[list[int], list[int]]
    """Tokens that mean the same bytes: the target's ids, each once, and the draft's."""
    fertility: float
    """Tokens of the draft model per token of the target, in usual text."""

    def transcript(self) -> Transcript:
        """For a new text."""
        ...


class ForeignDrafter(Drafter):
    """Any model of mlx-lm that keeps keys and values only.

    Args:
        context_limit: positions the model has; of a longer text it reads the end.

    Raises:
        UnsupportedModel: its layers keep more than keys and values.
    """

    name = "foreign"

    def __init__(self, model: nn.Module, translator: Translator, context_limit: int):
        self.cached = Model(model)
        if self.cached.recurrent:
            raise UnsupportedModel(
                "A draft model with another tokenizer has to rewind to any token, and this one's layers "
                "can rewind to a few places only. Use another draft model."
            )
        self.cached.clamp()  # a tokenizer may have more tokens than its model
        self.models = (self.cached,)
        self._translator = translator
        self._limit = context_limit
        self._transcripts: list[Transcript] = []
        self._unread = 0
        self._drafted: mx.array | None = None
        """`[b, n]`, its own tokens after those that it read, of which all but the last were read too."""

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        more = [self._translator.transcript() for _ in texts[len(self._transcripts) :]]
        self._transcripts = [*self._transcripts, *more][: len(texts)]
        self._drafted = None
        self._count(texts)

    def candidates(self, length: Length) -> Sequence[Candidate]:
        far = self._unread if self._unread > USUAL_LAG else 0
        return [replace(CANDIDATE, behind=far)]

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        each = zip(self._transcripts, context.host_tokens, strict=True)
        texts = [self._end(transcript.to_draft(tokens)) if tokens else [] for transcript, tokens in each]
        # A free place reads another text: its draft is not used.
        some = next(filter(None, texts), [])
        texts = [text if tokens else some for text, tokens in zip(texts, context.host_tokens, strict=True)]
        self._unread = 0
        if not depth or not all(texts):
            return Draft.none(len(texts))
        room = self._limit - max(map(len, texts))
        return self._continue(texts, self._read(texts), depth, min(room, MOST_STEPS), verifier)

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        self._count(texts)
        return ()

    @abstractmethod
    def _continue(
        self, texts: list[list[int]], output: Output, depth: int, most: int, verifier: BatchVerifier
    ) -> Draft:
        """Draft `depth` of the target's tokens, in at most `most` steps of the draft model.

        Args:
            texts: in its own tokens.
            output: of their last ones.
        """

    def _end(self, text: list[int]) -> list[int]:
        """The part of a text that is read: its first token, an attention sink (Xiao et al. 2023, arXiv
        2309.17453), and its end, cut in steps of half the limit, so that the cache is valid between cuts."""
        over, step = len(text) - self._limit * 3 // 4, self._limit // 2
        return text if over <= 0 else text[:1] + text[-(-over // step) * step + 1 :]

    def _count(self, texts: Texts) -> None:
        each = zip(self._transcripts, texts, strict=True)
        self._unread = max(transcript.unread(text) for transcript, text in each if text)

    def _read(self, texts: list[list[int]]) -> Output:
        """Read the new tokens of each text, the last ones of all texts in one pass."""
        if self._drafted is not None:
            drafted: list[list[int]] = self._drafted.tolist()  # type: ignore[assignment]
            for i, more in enumerate(drafted):
                self.cached.read_on(more[:-1], self.cached.seen[i], i)
        lag = max(len(text) - self.cached.resume(text, len(text) - 1, i) for i, text in enumerate(texts))
        lag = min(lag, LONG_LAG, *map(len, texts))
        for i, text in enumerate(texts):
            self.cached.prefill(text, len(text) - lag, sequence=i)
        starts = [len(text) - lag for text in texts]
        ids = mx.array([text[-lag:] for text in texts], mx.int32)
        output = self.cached.forward(Pass(ids, _length(starts)))
        for i, text in enumerate(texts):
            self.cached.read_to(text, len(text), i)
        self._drafted = None
        return output

    def _step(self, ids: Int[mx.array, "b 1"], count: int) -> Float[mx.array, "b draft_vocab"]:
        """The logits after one more of its own tokens; the text and `count` drafted tokens were read."""
        start = _length([seen + count for seen in self.cached.seen])
        return self.cached.follow(Pass(ids, start)).logits[:, -1]


class ByVocabulary(ForeignDrafter):
    """Guesses among the tokens that both vocabularies have."""

    def attach(self, target: Model) -> None:
        super().attach(target)
        shared, draft_vocab = zip(*self._translator.shared, strict=True), self.cached.vocab
        pairs = [(t, d) for t, d in shared if t < target.vocab and d < draft_vocab]
        self._target_ids = mx.array([t for t, _ in pairs], mx.int32)
        self._draft_ids = mx.array([d for _, d in pairs], mx.int32)
        none = mx.zeros((target.vocab,), mx.int32)
        self._draft_id_of = mx.put_along_axis(none, self._target_ids, self._draft_ids, 0)
        with suppress(UnsupportedModel):  # a vocabulary projection that cannot be identified stays whole
            restrict_head(self.cached.model, [d for _, d in pairs])

    def _continue(
        self, texts: list[list[int]], output: Output, depth: int, most: int, verifier: BatchVerifier
    ) -> Draft:
        logits, own, chain = output.logits[:, -1], list[mx.array](), Chain(verifier, len(texts))
        for index in range(min(depth, most)):
            if index:
                logits = self._step(own[-1], index - 1)
            ids = chain.step(spread(logits[:, self._draft_ids], self._target_ids, verifier.vocab))
            own.append(self._draft_id_of[ids])
        self._drafted = mx.concatenate(own, axis=1)
        return chain.draft


class ByText(ForeignDrafter):
    """Writes text, which is tokenized for the target."""

    def _continue(
        self, texts: list[list[int]], output: Output, depth: int, most: int, verifier: BatchVerifier
    ) -> Draft:
        # Enough for `depth` target tokens and a part of one more: a token that is cut is another one.
        steps = min(most, math.ceil((depth + 1) * self._translator.fertility) - 1)
        logits, found = output.logits[:, -1], mx.zeros((len(texts), 0), mx.int32)
        for index in range(steps):
            if index:
                logits = self._step(found[:, -1:], index - 1)
            ids = mx.argmax(logits, axis=-1, keepdims=True).astype(mx.int32)
            mx.async_eval(ids)
            found = mx.concatenate([found, ids], axis=1)
        self._drafted = found
        drafted: list[list[int]] = found.tolist()  # type: ignore[assignment]
        each = zip(self._transcripts, drafted, strict=True)
        return Draft.padded([transcript.to_target(tokens)[:depth] for transcript, tokens in each])


def _length(counts: list[int]) -> Length:
    low, high = min(counts), max(counts)
    return Length(low if low == high else mx.array(counts, mx.int32), low, high)
