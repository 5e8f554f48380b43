"""A target with its drafters: token ids in, rounds out. Knows nothing of text, files, network or screens."""

from collections.abc import Iterator, Sequence
from reprlib import repr as short

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float

from mlx_spec.arrays import Length, Pass
from mlx_spec.caches import models_of, rearrange, renew
from mlx_spec.drafters import Drafter, check_drafters
from mlx_spec.errors import BadOption, OutOfRange, UnsupportedModel
from mlx_spec.policy.controller import Controller
from mlx_spec.rows import Rows
from mlx_spec.stats import Stats, summarise
from mlx_spec.target.model import Model, Progress
from mlx_spec.text import Text
from mlx_spec.token_ids import token_ids, whole
from mlx_spec.types import BATCH_SIZES, DrafterName, Options, Round
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier


def drafts_in_flight() -> bool:
    """Whether a drafted round may be in flight while the next one is built, by device.

    On the CPU backend a submission returns when nearly all of it is done: little is hidden there, and a
    round that is dropped at the end of an answer costs its whole time.
    """
    return mx.default_device().type == mx.gpu


class Engine:
    """A target and its drafters.

    All calls must come from one thread: MLX binds arrays to the thread that makes them.

    Args:
        drafters: of candidates with equal prior, the first drafter's is preferred.
        context_limit: tokens of prompt and answer together.
        kv_bits: quantizes the target's keys and values.

    Raises:
        UnsupportedModel: the target is no model, keeps state that cannot be rewound, or lacks layers that a
            drafter reads.
        BadOption: a limit or a number of bits is no whole number.
        SpecError: one of the drafters is none, or has a name that options cannot give or that another has.
    """

    def __init__(
        self,
        target: nn.Module,
        drafters: Sequence[Drafter] = (),
        *,
        context_limit: int,
        kv_bits: int | None = None,
    ):
        if not isinstance(target, nn.Module):
            raise UnsupportedModel(f"The target is {short(target)}; it must be a model that mlx-lm loaded.")
        _check_whole("context_limit", context_limit, 1)
        if kv_bits is not None:
            _check_whole("kv_bits", kv_bits, 0)
        check_drafters(drafters)
        self.drafters = list(drafters)
        self.target = Model(target, kv_bits, [layer for drafter in drafters for layer in drafter.taps])
        if any(drafter.trees for drafter in drafters):
            self.target.allow_trees()
        for drafter in drafters:
            if drafter.given_to is not None:
                renew(drafter)
            drafter.given_to = self.target
            drafter.attach(self.target)
        self.context_limit = context_limit
        self._models = models_of(self.target, self.drafters)
        self.drafts_in_flight = drafts_in_flight() and all(model.lazy for model in self._models)
        self.controller = Controller()
        """Plans the rounds if no draft length is set."""
        self._current: Rows | None = None
        self._first: Text | None = None
        """The text that `stats` is about."""

    def generate(
        self,
        prompt: Sequence[int],
        options: Options,
        *,
        documents: Sequence[Sequence[int]] = (),
        progress: Progress | None = None,
    ) -> Iterator[Round]:
        """Continue `prompt`, a round at a time. To cancel, stop iterating: the engine stays usable.

        A later call ends this generation; `generate_batch` and `rows` write several texts at once.

        The prefix that is still cached from earlier texts is not read again.

        Args:
            prompt: token ids, at least one.
            documents: other texts the answer may copy from (lookup drafts from them).
            progress: called with (done, total) prompt tokens after each chunk.

        Raises:
            BadOption: the prompt is empty, a token is not in the target's vocabulary, or there is no drafter
                of the name asked for.
            ContextFull: the prompt leaves no room for an answer.
            SpecError: while iterating: a later call ended it, or a drafter gave what is no draft.
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
        """`generate` for several prompts at once; yields (prompt index, round). All prompts are read first.
        The first options' drafter and draft length hold for all. If a model cannot read several texts, they
        are written one by one."""
        if len(prompts) != len(options):
            raise BadOption(f"There are {len(prompts)} prompts and {len(options)} options; give one each.")
        rows = self._rows(len(prompts))
        pairs = zip(prompts, options, strict=True)
        texts = [
            rows.add(prompt, each, documents=documents, progress=progress, streamed=False)
            for prompt, each in pairs
        ]
        self._write(rows, texts[0] if texts else None)
        which = {text.number: i for i, text in enumerate(texts)}
        return ((which[text.number], each) for text, each in _all(rows))

    def rows(self, most: int = BATCH_SIZES[-1]) -> Rows:
        """Texts that join and leave, at most `most` (and 16) at once. Ends all generations before."""
        _check_whole("most", most, 1)
        rows = self._rows(most)
        self._write(rows)
        return rows

    def stats(self, rounds: Sequence[Round]) -> Stats:
        """Statistics of the last generation, of which `rounds` were read."""
        return self._first.stats(rounds) if self._first else summarise(rounds)

    def forget(self) -> None:
        """Read the next prompt from its first token and keep nothing of earlier texts, as after loading."""
        self._write(None)
        for model in self._models:
            model.forget()
        for drafter in self.drafters:
            drafter.drop()

    def forget_drafts(self) -> None:
        """Draft nothing from earlier texts, as after loading; those that are cached are not read again."""
        for drafter in self.drafters:
            drafter.forget()

    @property
    def drafter_names(self) -> list[str]:
        """Names that `Options.drafter` may have, alone or joined by `+`, beside `auto` and `none`."""
        return [drafter.name for drafter in self.drafters]

    @property
    def batches(self) -> bool:
        """Whether several texts can be written at once; else they are written one by one."""
        return all(model.batches for model in self._models)

    @property
    def can_pretend(self) -> bool:
        """Whether `pretend_cached` works for all its models."""
        return not any(model.recurrent for model in self._models)

    def pretend_cached(self, tokens: Sequence[int], unread: DrafterName = "") -> None:
        """Act as if `tokens` had been read, but not by the drafter `unread`, for timing: the content of rows
        does not matter for that."""
        if not self.target.recurrent:
            self.target.read_to(tokens, len(tokens))
        for drafter in self.drafters:
            drafter.pretend(tokens)
            for model in drafter.models if drafter.name == unread else ():
                model.forget()

    def next_scores(self, tokens: Sequence[int], options: Options) -> Float[mx.array, " vocab"]:
        """Scores whose argmax is the token after `tokens`, by one plain pass.

        Logits at temperature 0, log probabilities with noise above it.

        Raises:
            BadOption: as `generate`.
            SpecError: it writes an answer meanwhile, on another thread or because a drafter asks.
        """
        tokens = self._checked(tokens)
        length = len(tokens)
        with self.target.alone():
            self._write(None)
            rearrange(self.target, self.drafters, [0])
            self.target.prefill(tokens, length - 1)
            p = Pass(mx.array([tokens[-1:]], mx.int32), Length.exact(length - 1))
            text, verifier = mx.array([tokens], mx.int32), Verifier(options, self.target.vocab)
            judge = BatchVerifier([verifier], text, Length.exact(length), 0)
            return judge.scores(self.target.forward(p).logits[:, -1], 0, mx.zeros((1, 0), mx.int32))[0]

    def _checked(self, tokens: Sequence[int]) -> list[int]:
        """A text for `next_scores`."""
        found = token_ids(tokens, "the text", self.target.vocab)
        if not found:
            raise BadOption("The text is empty. Give at least one token.")
        return found

    def _write(self, rows: Rows | None, first: Text | None = None) -> None:
        """Texts share the caches: end the generations before."""
        if self._current:
            self._current.closed = True
        self._current, self._first = rows, first

    @property
    def _parts(self) -> tuple[Model, Sequence[Drafter], Controller, int, bool]:
        return self.target, self.drafters, self.controller, self.context_limit, self.drafts_in_flight

    def _rows(self, most: int) -> Rows:
        return Rows(*self._parts, most)


def _all(rows: Rows) -> Iterator[tuple[Text, Round]]:
    while rows.busy:
        yield from rows.step()


def _check_whole(name: str, value: object, least: int) -> None:
    try:
        right = whole(value) >= least
    except TypeError:
        right = False
    if not right:
        raise OutOfRange(name, short(value), f"a whole number, at least {least}")
