"""Continuous batching (Orca, Yu et al., OSDI 2022): texts join and leave between rounds.

Each text is what it would be alone. It has one of 1, 2, 4, 8 or 16 places in the caches, so that passes have
few widths; a free place costs a row. Prompts are read in pieces between rounds, or before the next round if
nobody waits for it; a prefix that is cached for another text is copied.
"""

import time
from collections import deque
from collections.abc import Sequence

import mlx.core as mx

from mlx_spec.arrays import Pass
from mlx_spec.batch import Batch
from mlx_spec.caches import drop, models_of, rearrange
from mlx_spec.drafters import Drafter, drafters_for
from mlx_spec.errors import BadOption, ContextFull, SpecError
from mlx_spec.loop import Loop, Read
from mlx_spec.policy.policy import Fixed, Policy
from mlx_spec.target.model import PREFILL_CHUNK, WORTH_COPYING, Model, Progress
from mlx_spec.text import Text
from mlx_spec.timer import Timer
from mlx_spec.token_ids import token_ids
from mlx_spec.types import BATCH_SIZES, Options
from mlx_spec.verify.verifiers import Verifier

WAIT, LONGEST_WAIT = 0.25, 1.0
"""Seconds of prefill between two rounds, at most; the longer one while many prompts are read and few texts
are written: a round takes about as long for few as for all."""
LEAST_PIECE = 16
"""The fewest tokens of a prefill piece, however long they take."""
SHORT_TAIL = 64
"""The most prompt tokens that a single text's first round reads, without a prefill pass. Their logits are
computed and not used, which costs less than a pass over the weights."""
RECURRENT_TAIL = 16
"""The same with recurrent layers, which may have to read them twice."""


class Rows:
    """The texts of one engine; each `step` writes a round.

    Args:
        controller: plans the rounds if no draft length is set.
        most: texts written at once; more wait. It is 1 if a model reads one text at a time only.
    """

    def __init__(
        self,
        target: Model,
        drafters: Sequence[Drafter],
        controller: Policy,
        context_limit: int,
        drafts_in_flight: bool,
        most: int,
    ):
        self._target, self._all_drafters, self._controller = target, drafters, controller
        self._context_limit, self._drafts_in_flight = context_limit, drafts_in_flight
        self._models = models_of(target, drafters)
        self.most = min(most, BATCH_SIZES[-1]) if all(model.batches for model in self._models) else 1
        self.closed = False
        """Whether the engine writes other texts now, or a step raised."""
        self._waiting: deque[Text] = deque()
        self._places: list[Text | None] = [None] * len(target.texts)
        self._loop: Loop | None = None
        """Writes the texts whose prompts were read, if any."""
        self._drafters: list[Drafter] = []
        """Drafters of the oldest text's options."""
        self._seconds_per_token = 1.0  # of prefill; slow until it was timed

    def add(
        self,
        prompt: Sequence[int],
        options: Options,
        *,
        documents: Sequence[Sequence[int]] = (),
        progress: Progress | None = None,
        likeliest: int | None = None,
        streamed: bool = True,
    ) -> Text:
        """Continue `prompt` beside the others. Drafter and draft length are those of the oldest text.

        The arguments and errors are those of `Engine.generate`; `likeliest` and `streamed` are as in `Text`.
        """
        vocab, limit = self._target.vocab, self._context_limit
        prompt = token_ids(prompt, "the prompt", vocab)
        if not prompt:
            raise BadOption("The prompt is empty. Give at least one token.")
        if len(prompt) >= limit:
            raise ContextFull(len(prompt), limit)
        given = [token_ids(document, "a document", vocab) for document in documents]
        drafters_for(options, self._all_drafters)
        end = min(limit, len(prompt) + options.max_tokens)
        text = Text(prompt, options, end, Verifier(options, vocab), given, likeliest, progress, streamed)
        self._waiting.append(text)
        return text

    def cancel(self, text: Text) -> None:
        """End a text: its place is free from the next step on."""
        text.ended = True

    @property
    def busy(self) -> bool:
        """Whether there is more to write."""
        return any(text and not text.ended for text in (*self._places, *self._waiting))

    def step(self) -> Read:
        """Read on in prompts, then run a round of all texts whose prompts were read, if it is due.

        Returns:
            (text, round) for each round that was read.

        Raises:
            SpecError: the engine writes other texts now, or an earlier step raised.
        """
        with self._target.alone():
            self._check()
            try:
                read = self._regroup() if self._changed() else []
                if self._is_reading():
                    read += self._regroup() if self._read_prompts() else []
                    if self._is_reading() and not self._is_awaited():
                        return read
                return read + self._loop.step() if self._loop and self._loop.batch.live else read
            except BaseException as error:
                ended, self.closed = self.closed, True  # a failed pass leaves the caches in an unknown state
                if self._loop and not ended and isinstance(error, Exception):  # else they are a later one's
                    drop(self._target, self._all_drafters)
                raise

    def _check(self) -> None:
        """Texts share the caches: refuse to go on after the engine began others, or after an error, or with a
        drafter of another engine, which may write into that one's rows."""
        for drafter in self._all_drafters:
            if drafter.given_to not in (None, self._target):
                self.closed = True
                raise SpecError(
                    f"The drafter {drafter.name} was given to a later engine. Make one for each engine."
                )
        if self.closed:
            raise SpecError("This answer was ended by a later one or by an error. Ask for it again.")

    def _changed(self) -> bool:
        """Whether texts leave or join."""
        while self._waiting and self._waiting[0].ended:
            self._waiting.popleft()
        gone, full = any(text and text.ended for text in self._places), len(self._live()) >= self.most
        for text in self._waiting if full else ():  # for a place: that is no time of its own
            text.asked = time.perf_counter()
        return gone or (bool(self._waiting) and not full)

    def _live(self) -> list[Text]:
        """Texts that have a place and have not ended."""
        return [text for text in self._places if text and not text.ended]

    def _is_reading(self) -> bool:
        """Whether prompts are left to read."""
        return any(not text.begun for text in self._live())

    def _is_awaited(self) -> bool:
        """Whether somebody waits for the next round. If not, it is due once all texts take part."""
        return any(text.begun and text.streamed for text in self._live())

    def _regroup(self) -> Read:
        """Let texts leave and join. Rounds in flight are read first: then lengths are known."""
        read = self._drain()
        self._places = [text if text and not text.ended else None for text in self._places]
        joining: list[Text] = []
        while self._waiting and len(self._live()) + len(joining) < self.most:
            text = self._waiting.popleft()
            joining += [] if text.ended else [text]
        if self._live() or joining:
            self._arrange(joining)
        oldest = min(filter(None, self._places), key=lambda text: text.number, default=None)
        self._drafters = drafters_for(oldest.options, self._all_drafters) if oldest else []
        written = [text if text and text.begun else None for text in self._places]
        self._loop = self._begin(written, oldest.options.draft_length) if oldest and any(written) else None
        return read

    def _drain(self) -> Read:
        read: Read = []
        if self._loop:
            while self._loop.batch.pending and any(not text.ended for text in self._loop.batch.live):
                read += self._loop.read()
            self._loop.batch.pending.clear()
        return read

    def _arrange(self, joining: list[Text]) -> None:
        """Give each text a place, and each new one the cached rows with the longest common prefix."""
        target, before = self._target, len(self._places)
        size = next(size for size in BATCH_SIZES if size >= len(self._live()) + len(joining))
        places: list[Text | None] = [None] * size
        order = [i if i < before else 0 for i in range(size)]
        for i, text in sorted(enumerate(self._places), key=lambda place: place[0] >= size):
            if text:
                at = i if i < size else places.index(None)
                places[at], order[at] = text, i
        for text in joining:
            shared = [target.shared(text.tokens, i) for i in range(before)]
            best = max(range(before), key=shared.__getitem__)
            if best < size and places[best] is None:
                at = best
            else:
                at = places.index(None)
                best = best if shared[best] >= WORTH_COPYING or at >= before else at
            places[at], order[at] = text, best
        rearrange(target, self._all_drafters, order)
        self._places = places
        if all(text in joining for text in places if text):
            mx.reset_peak_memory()
        for i, text in enumerate(places):
            if text and text in joining:
                observers = drafters_for(text.options, self._all_drafters)
                reusable = min([d.reusable(text.tokens, i) for d in observers], default=len(text.tokens))
                text.first_read = self._first_read(text, i, reusable)
                text.cached_tokens = target.resume(text.tokens, min(text.first_read, reusable), i)

    def _first_read(self, text: Text, place: int, reusable: int) -> int:
        """Prompt tokens to prefill: all but the last one, or only the cached ones if a short tail is left.
        The first `reusable` tokens need not be read again for the drafters.

        A recurrent target can resume at the end of a prefill. The next prompt may lack this one's last tokens
        (a chat template's start of the answer): they are always left as a tail.
        """
        rest = text.prompt_length - min(reusable, self._target.shared(text.tokens, place))
        tail = RECURRENT_TAIL if self._target.recurrent else SHORT_TAIL
        if not 1 <= rest <= tail or len(self._places) > 1:
            rest = tail if self._target.recurrent else 1
        return max(0, text.prompt_length - rest)

    def _begin(self, written: list[Text | None], draft_length: int | None) -> Loop:
        """A loop over these texts; rows at other places are kept."""
        target, models = self._target, self._models
        longest = max(len(text.tokens) for text in written if text)
        kept: list[int] = []
        for i, text in enumerate(self._places):
            if not text:  # rows kept at a free place must not make passes longer
                target.overwrite(longest - 1, i)
            kept.append(text.first_read if text else target.seen[i])
        batch = Batch(written, kept, target.vocab, self._context_limit)
        batch.unseen = max(len(text.tokens) - target.seen[i] for i, text in enumerate(written) if text)
        places = [(i, text.tokens) for i, text in enumerate(written) if text]
        drafters = [
            drafter  # one that has not observed a text would draft from nothing
            for drafter in self._drafters
            if all(drafter.reusable(tokens, i) >= target.seen[i] for i, tokens in places)
        ]
        for drafter in drafters:
            drafter.begin(batch.texts, [text.documents if text else [] for text in written])
        length = draft_length if self._drafters else 0  # where none may draft, nothing is earned for drafts
        policy = (self._controller if length is None else Fixed(length)).of(len(written))
        policy.begin([text.number for text in batch.live])
        timer = self._loop.timer if self._loop else Timer(lambda: sum(m.graphs_built for m in models))
        timer.disturb()
        return Loop(target, drafters, policy, batch, timer, self._drafts_in_flight)

    def _read_prompts(self) -> bool:
        """Read on in prompts for as long as other texts may wait. Returns whether one was finished."""
        begun = [bool(text.begun) for text in self._live()]
        wait = WAIT * begun.count(False) / max(1, begun.count(True))
        until, finished = time.perf_counter() + min(max(WAIT, wait), LONGEST_WAIT), False
        while self._is_reading() and (left := until - time.perf_counter()) > 0 and self._read_prompt(left):
            finished = True
        return finished

    def _read_prompt(self, seconds: float) -> bool:
        """Read a piece of the oldest prompt that is left. Returns whether that was its last."""
        reading = [(text.number, i, text) for i, text in enumerate(self._places) if text and not text.begun]
        (_, place, text), target = min(reading), self._target
        first, piece, start = target.seen[place], PREFILL_CHUNK, time.perf_counter()
        if self._loop:
            self._loop.timer.disturb()
        if self._is_awaited():
            piece = max(LEAST_PIECE, min(piece, int(seconds / self._seconds_per_token)))
        if first < text.first_read:
            target.read(min(first + piece, text.first_read), self._observe, place)
            done = target.seen[place]
            self._seconds_per_token = (time.perf_counter() - start) / (done - first)
            if text.progress:
                with self._target.between():
                    text.progress(done - text.cached_tokens, text.first_read - text.cached_tokens)
                self._check()
        if target.seen[place] < text.first_read:
            return False
        target.mark()
        text.begun = time.perf_counter()
        return True

    def _observe(self, p: Pass, output) -> None:
        for drafter in self._drafters:
            drafter.observe(p, output, None)
