"""A target with its drafters: token ids in, rounds out. Knows nothing of text, files, network or screens."""

import time
from collections.abc import Iterator, Sequence

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float

from mlx_spec.arrays import Length, Pass
from mlx_spec.batch import Batch
from mlx_spec.drafters import Drafter
from mlx_spec.errors import BadOption, ContextFull, SpecError
from mlx_spec.loop import Loop
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.plan import Fixed
from mlx_spec.sequence import Sequence as Text
from mlx_spec.stats import Stats, summarise
from mlx_spec.target.model import Model, Progress
from mlx_spec.timer import Timer
from mlx_spec.token_ids import token_ids
from mlx_spec.types import Options, Round
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier

SHORT_TAIL = 64
"""Prompt tokens that the first round takes along instead of a prefill pass of their own. Their logits are
computed and not used, which costs less than a pass over the weights."""
RECURRENT_TAIL = 16
"""The same with recurrent layers, which may have to read them twice."""


def drafts_in_flight() -> bool:
    """Whether a drafted round may be in flight while the next one is built, by device.

    On the CPU backend a submission returns when nearly all of it is done: little is hidden there, and a
    round that is dropped at the end of an answer costs its whole time.
    """
    return mx.default_device().type == mx.gpu


class Engine:
    """A target, and what may draft for it.

    All calls must come from one thread: MLX binds arrays to the thread that makes them.

    Args:
        drafters: the first of two that are equally sure drafts.
        context_limit: tokens of prompt and answer together.
        kv_bits: quantizes the target's keys and values.

    Raises:
        UnsupportedModel: the target keeps state that cannot be rewound, or lacks layers that a drafter reads.
    """

    def __init__(
        self,
        target: nn.Module,
        drafters: Sequence[Drafter] = (),
        *,
        context_limit: int,
        kv_bits: int | None = None,
    ):
        self.drafters = list(drafters)
        self.target = Model(target, kv_bits, [layer for drafter in drafters for layer in drafter.taps])
        if any(drafter.trees for drafter in drafters):
            self.target.allow_trees()
        for drafter in drafters:
            drafter.meet(self.target)
        self.context_limit = context_limit
        self._models = [self.target, *(model for drafter in drafters for model in drafter.models)]
        self.drafts_in_flight = drafts_in_flight() and all(model.lazy for model in self._models)
        self.controller = Controller()
        """Plans the rounds where no draft length is asked for."""
        self._current: Batch | None = None
        self._prefill_seconds = 0.0

    def generate(
        self,
        prompt: Sequence[int],
        options: Options,
        *,
        documents: Sequence[Sequence[int]] = (),
        progress: Progress | None = None,
    ) -> Iterator[Round]:
        """Continue `prompt`, a round at a time. Not reading on is a cancel and leaves all usable.

        The prefix shared with everything read or written before is not read again.

        Args:
            prompt: token ids, at least one.
            documents: other texts the answer may copy from (lookup drafts from them).
            progress: called with (done, total) prompt tokens after each chunk.

        Raises:
            BadOption: the prompt is empty, a token is not in the target's vocabulary, or there is no drafter
                of the name asked for.
            ContextFull: the prompt leaves no room for an answer.
        """
        rounds = self.generate_batch([prompt], [options], documents=documents, progress=progress)
        return (each for _, each in rounds)

    def generate_batch(
        self,
        prompts: Sequence[Sequence[int]],
        options: Sequence[Options],
        *,
        documents: Sequence[Sequence[int]] = (),
        progress: Progress | None = None,
    ) -> Iterator[tuple[int, Round]]:
        """`generate` for several prompts at once: (which, its round). The first options' drafter and draft
        length hold for all.

        Raises:
            BadOption: also where a model can read one text at a time only.
        """
        if len(prompts) > 1 and not all(model.batches for model in self._models):
            raise BadOption("This pair can write one text at a time only. Give one prompt.")
        texts = [self._text(prompt, each) for prompt, each in zip(prompts, options, strict=True)]
        documents = [token_ids(document, "a document", self.target.vocab) for document in documents]
        drafters = self._drafters(options[0])
        batch = self._current = Batch(texts, self.context_limit)
        self._prefill_seconds = 0.0
        return self._run(batch, drafters, options[0].draft_length, documents, progress)

    def stats(self, rounds: Sequence[Round]) -> Stats:
        """The numbers of the last generation, of which `rounds` were read."""
        if self._current is None:
            return summarise(rounds)
        first = self._current.sequences[0]
        return summarise(
            rounds,
            prompt_tokens=first.prompt_length,
            cached_tokens=first.cached_tokens,
            prefill_seconds=self._prefill_seconds,
            peak_memory_bytes=mx.get_peak_memory(),
        )

    def forget(self) -> None:
        """Read the next prompt from its first token, as after loading."""
        self._current = None
        for model in self._models:
            model.forget()

    @property
    def drafter_names(self) -> list[str]:
        """Names that `Options.drafter` may have, alone or joined by `+`, beside `auto` and `none`."""
        return [drafter.name for drafter in self.drafters]

    @property
    def can_pretend(self) -> bool:
        """Whether `pretend_cached` works for all its models."""
        return not any(model.recurrent for model in self._models)

    def pretend_cached(self, tokens: Sequence[int]) -> None:
        """Act as if `tokens` had been read, where rows are all there is: their content costs nothing."""
        for model in self._models:
            model.pretend_cached(tokens)

    @property
    def graphs_built(self) -> int:
        """Of all models; a round that builds one takes longer than those after it."""
        return sum(model.graphs_built for model in self._models)

    def next_scores(self, tokens: Sequence[int], options: Options) -> Float[mx.array, " vocab"]:
        """What the choice of the token after `tokens` is the argmax of, by one plain pass.

        Logits at temperature 0, noisy log probabilities above it.
        """
        tokens = token_ids(tokens, "the text", self.target.vocab)
        self._current, count = None, len(tokens)
        self.target.resize(1)
        self.target.prefill(list(tokens), count - 1)
        p = Pass(mx.array([list(tokens[-1:])], mx.int32), Length.exact(count - 1))
        text, verifier = mx.array([list(tokens)], mx.int32), Verifier(options, self.target.vocab)
        judge = BatchVerifier([verifier], text, Length.exact(count), 0)
        return judge.scores(self.target.forward(p).logits[:, -1], 0, mx.zeros((1, 0), mx.int32))[0]

    def _run(
        self,
        batch: Batch,
        drafters: list[Drafter],
        draft_length: int | None,
        documents: Sequence[Sequence[int]],
        progress: Progress | None,
    ) -> Iterator[tuple[int, Round]]:
        self._check_current(batch)
        self._prefill(batch, drafters, documents, progress)
        policy = self.controller if draft_length is None else Fixed(draft_length)
        policy.begin()
        timer = Timer(lambda: self.graphs_built)
        loop = Loop(self.target, drafters, policy, batch, timer, self.drafts_in_flight)
        yield from loop.run(lambda: self._check_current(batch))

    def _check_current(self, batch: Batch) -> None:
        """Answers share the caches: none goes on after another one began."""
        if batch is not self._current:
            raise SpecError("This answer was ended by a later one. Read the later one.")

    def _prefill(
        self,
        batch: Batch,
        drafters: list[Drafter],
        documents: Sequence[Sequence[int]],
        progress: Progress | None,
    ) -> None:
        def report(done: int, total: int) -> None:
            if progress:
                progress(done, total)
                self._check_current(batch)

        def observe(p: Pass, output) -> None:
            for drafter in drafters:
                drafter.observe(p, output, None)

        mx.reset_peak_memory()
        start = time.perf_counter()
        self.target.resize(len(batch.sequences))
        for i, text in enumerate(batch.sequences):
            end = self._prefilled(text, i, len(batch.sequences))
            text.cached_tokens = self.target.prefill(text.tokens, end, report, observe, i)
        batch.unseen = max(
            len(text.tokens) - seen for text, seen in zip(batch.sequences, self.target.seen, strict=True)
        )
        for drafter in drafters:
            drafter.begin([text.tokens for text in batch.sequences], documents)
        self._prefill_seconds = time.perf_counter() - start

    def _prefilled(self, text: Text, i: int, count: int) -> int:
        """How far to prefill: all but the last token, or nothing where a short tail is all there is.

        A recurrent target can go on from the end of a prefill. The next answer's prompt may not share the
        last tokens of this one (a mark for the answer to begin): they are always left as a tail.
        """
        rest = text.prompt_length - self.target.shared(text.tokens, i)
        tail = RECURRENT_TAIL if self.target.recurrent else SHORT_TAIL
        if not 1 <= rest <= tail or count > 1:
            rest = tail if self.target.recurrent else 1
        return max(0, text.prompt_length - rest)

    def _text(self, prompt: Sequence[int], options: Options) -> Text:
        prompt = token_ids(prompt, "the prompt", self.target.vocab)
        if not prompt:
            raise BadOption("The prompt is empty. Give at least one token.")
        if len(prompt) >= self.context_limit:
            raise ContextFull(
                f"The prompt has {len(prompt)} tokens and the model's context holds {self.context_limit}. "
                "Shorten the prompt."
            )
        limit = min(self.context_limit, len(prompt) + options.max_tokens)
        return Text(prompt, options, limit, Verifier(options, self.target.vocab))

    def _drafters(self, options: Options) -> list[Drafter]:
        """Those that may draft in this generation."""
        usual = [drafter.name for drafter in self.drafters if not drafter.by_name]
        names = {"auto": usual, "none": []}.get(options.drafter, options.drafter.split("+"))
        if unknown := [name for name in names if name not in self.drafter_names]:
            listed = ", ".join(self.drafter_names)
            raise BadOption(
                f"There is no drafter {unknown[0]} in this pair. "
                f"Use auto or none, or one or more of these joined by +: {listed}."
            )
        if options.draft_length == 0:
            return []
        return [drafter for drafter in self.drafters if drafter.name in names]
