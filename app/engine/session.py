"""Answers as events: prompt in, marked text out. Everything here runs on the thread that loaded the pair, but
tokenizing.
"""

from collections import deque
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import wait
from dataclasses import dataclass, replace
from functools import cache
from sys import maxsize
from typing import TYPE_CHECKING, Any, cast

from app.engine.answer_format import OPENING, opened_thought, template_of, thought_marks
from app.engine.answer_reader import AnswerReader
from app.engine.answer_text import AnswerText
from app.engine.chat_prompt import (
    NO_VALUES,
    CancelledWhileReading,
    FillIn,
    Message,
    Prompt,
    by_think,
    chat_ids,
    raw_ids,
    thinks,
    values_for,
)
from app.engine.difference import Difference
from app.engine.events import (
    PairInfo,
    PrefillProgressed,
    PromptCounted,
    TurnEnded,
    TurnEvent,
    TurnsDropped,
)
from app.engine.fill_in import fill_in_ids, fill_in_stops
from app.engine.marks import ANALYSIS, CHANNEL, FINAL
from app.engine.protocol import Answer
from app.engine.same_text import first_difference
from app.engine.tokenizing import Tokenizing
from app.engine.turn import Turn
from app.settings.options import AnswerOptions
from app.shell.machine import circumstances
from mlx_spec.errors import ContextFull
from mlx_spec.stats import Stats, summarise
from mlx_spec.types import Round

if TYPE_CHECKING:
    from mlx_spec.rows import Rows
    from models.load.engine import LoadedPair


LOOK_SECONDS = 0.002
"""How long each round of other answers waits for the text that is being tokenized."""


@dataclass(frozen=True, slots=True)
class _Read:
    """A request, tokenized."""

    ids: list[int]
    dropped: int
    """Messages left out."""
    options: AnswerOptions
    documents: list[list[int]]
    turn: Turn


class Session:
    """Answers prompts with one loaded pair. Each is a whole conversation; its cached part is reused."""

    def __init__(self, pair: "LoadedPair") -> None:
        self._pair = pair
        self._token_text = cache(self._read_token)
        self._rows: Rows | None = None
        self._gained: dict[int, deque[Round]] = {}
        """By row: finished rounds that its answer has not taken yet."""

    @property
    def info(self) -> PairInfo:
        return PairInfo(
            name=self._pair.spec.name,
            context_limit=self._pair.context_limit,
            memory_bytes=self._pair.memory_bytes,
            drafters=tuple(self._pair.engine.drafter_names),
            thinks=thinks(self._pair.tokenizer),
            batches=self._pair.engine.batches,
            notes=self._pair.notes,
            **circumstances(),
        )

    def answer(
        self, request: Answer, cancelled: Callable[[], bool] = lambda: False
    ) -> Iterator[TurnEvent | None]:
        """Answer a prompt: `TurnsDropped` if any were, `TextAdded` per round, `TurnEnded` at the end.

        Several answers iterated in turn are written side by side; None means nothing new for this one.

        Args:
            cancelled: called during prefill and after every round; the text so far stays.
        """
        reading = Tokenizing(len(repr(request)), lambda: self._read(request, cancelled))
        look = LOOK_SECONDS
        try:
            while wait([reading], look).not_done:
                if cancelled():
                    raise CancelledWhileReading
                yield None
                look = LOOK_SECONDS if reading.running() else 0
            read = reading.result()
        except CancelledWhileReading:
            yield TurnEnded("", (), "cancelled", request.options.seed, summarise(()))
            return
        finally:
            reading.leave()
        if request.counts:
            stats = summarise((), prompt_tokens=len(read.ids))
            yield TurnEnded("", (), "length", request.options.seed, stats)
            return
        if read.dropped and len(read.ids) < self._pair.context_limit:
            yield TurnsDropped(read.dropped)
        turn = read.turn
        stats = yield from self._write(read, request, cancelled)
        if tail := turn.end():
            yield tail
        yield TurnEnded(
            text=turn.text.text,
            token_ids=turn.text.token_ids,
            finish_reason=turn.finish_reason or "length",
            seed=request.options.seed,
            stats=stats,
            tool_calls=turn.tool_calls,
            stopped_at=turn.text.stopped_at,
        )

    def _read(self, request: Answer, cancelled: Callable[[], bool]) -> _Read:
        """Tokenize the request. Runs on a thread of its own: a text of megabytes takes seconds."""
        prompt, options, tokenizer = request.prompt, request.options, self._pair.tokenizer
        stops = options.stop_tokens | self._pair.stop_tokens
        if isinstance(prompt, FillIn):
            stops |= fill_in_stops(tokenizer)
        options = replace(options, stop_tokens=stops)
        reader = AnswerReader(tokenizer, request.tools, parts=request.parts)
        documents = [self._encode(document) for document in request.documents]
        values = values_for(options.think, request.template_values)
        limit = None if request.whole else options.max_tokens
        begun_size = len(self._encode(request.begun))
        ids, dropped = self.prompt_ids(prompt, limit, begun_size, cancelled, request.tools, values)
        opened = opened_thought(tokenizer, self._decode(ids[-OPENING:])) if _is_chat(prompt) else ""
        mark, close = thought_marks(tokenizer)
        begun = request.begun
        if opened:  # as the text may have it too
            begun = begun.removeprefix(opened if begun.startswith(opened) else mark)
        marked = begun != request.begun or begun.lstrip().startswith((close, CHANNEL))
        if request.parts and begun and not marked:  # the answer's, not a thought's or a header's
            if opened:
                begun = f"{close}\n\n{begun}"
            elif ANALYSIS in template_of(tokenizer):
                begun = FINAL + begun
        if request.begun:
            reader.begin(opened + begun)
        begun_ids = self._encode_after(ids, begun) if begun else []
        ids += begun_ids
        text = AnswerText(
            self._decode,
            request.stop_texts,
            begun_ids if _is_chat(prompt) else ids,
            "" if request.begun else opened,
            reader.unseen_in,
        )
        return _Read(ids, dropped, options, documents, Turn(options, text, reader, self._token_text))

    def _write(
        self, read: _Read, request: Answer, cancelled: Callable[[], bool]
    ) -> Generator[TurnEvent | None, None, Stats]:
        """The turn's rounds as events, until it ends or is cancelled; returns its statistics."""
        turn = read.turn
        reading: PrefillProgressed | None = None

        def progress(done: int, total: int) -> None:
            nonlocal reading
            reading = PrefillProgressed(done, total)

        rows = self._open_rows()
        if request.fresh and not rows.busy:  # drafts of answers in progress go on from what was read
            self._pair.engine.forget_drafts()
        text = rows.add(
            read.ids,
            read.options,
            documents=read.documents,
            progress=progress,
            likeliest=request.likeliest,
            streamed=request.streamed,
        )
        gained = self._gained[text.number] = deque()
        try:
            yield PromptCounted(len(read.ids))  # others may join before the first step
            while turn.finish_reason is None:
                if cancelled():
                    turn.finish_reason = "cancelled"
                    break
                if not gained:
                    for row, played in rows.step():
                        self._gained[row.number].append(played)
                yield turn.add(gained.popleft()) if gained else reading
                reading = None
        finally:
            rows.cancel(text)
            del self._gained[text.number]
        return text.stats(turn.rounds) if turn.rounds else summarise(())

    def _open_rows(self) -> "Rows":
        if self._rows is None or self._rows.closed:
            self._rows = self._pair.engine.rows()
        return self._rows

    def prompt_ids(
        self,
        prompt: Prompt,
        max_tokens: int | None,
        begun: int = 0,
        cancelled: Callable[[], bool] = lambda: False,
        tools: Sequence[dict[str, Any]] = (),
        template_values: Mapping[str, Any] = NO_VALUES,
    ) -> tuple[list[int], int]:
        """The token ids of the prompt, and the number of oldest messages left out to make room for `begun`
        and `max_tokens`, or a quarter of the context if that is less; None: all messages are kept.
        """
        if isinstance(prompt, str):
            return raw_ids(self._pair.tokenizer, prompt), 0
        if isinstance(prompt, FillIn):
            return fill_in_ids(self._pair.tokenizer, prompt), 0
        if not _is_chat(prompt):
            return list(cast("Sequence[int]", prompt)), 0
        messages = cast("Sequence[Message]", prompt)
        limit = self._pair.context_limit
        room = maxsize if max_tokens is None else limit - min(max_tokens, limit // 4) - begun
        ids, dropped = chat_ids(self._pair.tokenizer, messages, room, cancelled, tools, template_values)
        length = len(ids) + begun
        if max_tokens is not None and length >= limit and messages[0]["role"] == "system":
            raise ContextFull(length, limit, "Shorten the chat's instructions or the prompt.")
        return ids, dropped

    def difference(
        self, prompt: Prompt, options: AnswerOptions, plain: Sequence[int], drafted: Sequence[int]
    ) -> Difference | None:
        """The first difference of two answers to a prompt; None if they are the same."""
        ids, _ = self.prompt_ids(prompt, options.max_tokens, template_values=by_think(options.think))
        return first_difference(self._pair, ids, options, plain, drafted)

    def _encode(self, text: str) -> list[int]:
        return list(self._pair.tokenizer.encode(text, add_special_tokens=False))

    def _encode_after(self, ids: Sequence[int], text: str) -> list[int]:
        """The tokens of a text that goes on from others: some tokenizers put a space before a text alone."""
        last = self._decode(ids[-1:])
        before, both = self._encode(last), self._encode(last + text)
        return both[len(before) :] if both[: len(before)] == before else self._encode(text)

    def _decode(self, ids: Sequence[int]) -> str:
        return self._pair.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)

    def _read_token(self, token: int) -> str:
        """One token's text, decoded after a copy of itself: some tokenizers drop a leading space."""
        return self._decode([token, token])[len(self._decode([token])) :]


def _is_chat(prompt: Prompt) -> bool:
    """Whether the prompt is a conversation, whose answer begins anew; an answer to others goes on from it."""
    return not isinstance(prompt, str | FillIn) and bool(prompt) and not isinstance(prompt[0], int)
