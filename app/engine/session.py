"""Answers as events: text in, marked text out. Everything here runs on the thread that loaded the pair."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING

from app.engine.answer_text import AnswerText
from app.engine.chat_prompt import CancelledWhileReading, Message, chat_ids, raw_ids
from app.engine.difference import Difference
from app.engine.events import (
    DraftRound,
    FinishReason,
    Mark,
    PairInfo,
    Piece,
    PrefillProgressed,
    TextAdded,
    TurnEnded,
    TurnEvent,
    TurnsDropped,
    merged,
)
from app.engine.same_text import first_difference
from app.shell.errors import BadInput
from app.shell.machine import device_name, memory_in_use, versions
from app.shell.runtime import blas
from mlx_spec.stats import summarise
from mlx_spec.types import Options, Round

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


class Session:
    """Answers prompts with one loaded pair. Each prompt is a whole conversation; what was read is reused."""

    def __init__(self, pair: "LoadedPair") -> None:
        self._pair = pair
        self._token_text = cache(self._read_token)

    @property
    def info(self) -> PairInfo:
        return PairInfo(
            name=self._pair.spec.name,
            context_limit=self._pair.context_limit,
            device=device_name(),
            memory_bytes=self._pair.memory_bytes,
            can_draft="model" in self._pair.engine.drafter_names,
            drafters=tuple(self._pair.engine.drafter_names),
            notes=self._pair.notes,
            versions=versions(),
            blas=blas(),
        )

    def answer(
        self,
        prompt: str | Sequence[Message],
        options: Options,
        *,
        stop_texts: Sequence[str] = (),
        documents: Sequence[str] = (),
        begun: str = "",
        cancelled: Callable[[], bool] = lambda: False,
        progress: Callable[[PrefillProgressed], None] = lambda event: None,
    ) -> Iterator[TurnEvent]:
        """Answer a prompt: `TurnsDropped` if any were, `TextAdded` per round, `TurnEnded` at last.

        Args:
            prompt: text is continued as it is; messages go through the chat template.
            stop_texts: the answer ends before the first of them, wherever token borders lie.
            documents: texts the lookup drafter may copy from; the model does not read them.
            begun: the answer's first part; the events have what follows.
            cancelled: asked while the prompt is read, and after every round; the text so far stays.
            progress: called while the prompt is read: an iterator cannot yield there.
        """
        begun_ids = self._encode(begun)
        texts = [self._encode(document) for document in documents]
        options = replace(options, stop_tokens=options.stop_tokens | self._pair.stop_tokens)
        turn = _Turn(options, AnswerText(self._decode, stop_texts, begun_ids), self._token_text)

        def reading(done: int, total: int) -> None:
            progress(PrefillProgressed(done, total))
            if cancelled():
                raise CancelledWhileReading

        try:
            ids, dropped = self.prompt_ids(prompt, options.max_tokens, begun_ids, cancelled)
            if dropped:
                yield TurnsDropped(dropped)
            for played in self._pair.engine.generate(ids, options, documents=texts, progress=reading):
                yield turn.add(played)
                if turn.finish_reason is None and cancelled():
                    turn.finish_reason = "cancelled"
                if turn.finish_reason is not None:
                    break
        except CancelledWhileReading:
            turn.finish_reason = "cancelled"
        if tail := turn.end():
            yield tail
        yield TurnEnded(
            text=turn.text.text,
            token_ids=turn.text.token_ids,
            finish_reason=turn.finish_reason or "length",
            seed=options.seed,
            stats=self._pair.engine.stats(turn.rounds) if turn.rounds else summarise(()),
        )

    def prompt_ids(
        self,
        prompt: str | Sequence[Message],
        max_tokens: int,
        begun: Sequence[int] = (),
        cancelled: Callable[[], bool] = lambda: False,
    ) -> tuple[list[int], int]:
        """The prompt's token ids and `begun`, and how many of the oldest messages do not fit beside an answer
        of `max_tokens`, or of a quarter of the context if that is less.
        """
        if isinstance(prompt, str):
            return [*raw_ids(self._pair.tokenizer, prompt), *begun], 0
        limit = self._pair.context_limit
        room = limit - min(max_tokens, limit // 4) - len(begun)
        ids, dropped = chat_ids(self._pair.tokenizer, prompt, room, cancelled)
        if (length := len(ids) + len(begun)) >= limit and prompt[0]["role"] == "system":
            raise BadInput(
                f"The prompt has {length} tokens with the chat's instructions, and the model's context holds "
                f"{limit}. Shorten the instructions or the prompt."
            )
        return [*ids, *begun], dropped

    def difference(
        self, prompt: str | Sequence[Message], options: Options, plain: Sequence[int], drafted: Sequence[int]
    ) -> Difference | None:
        """Where two answers to a prompt part, and by which margin; None if they are the same."""
        ids, _ = self.prompt_ids(prompt, options.max_tokens)
        return first_difference(self._pair, ids, options, plain, drafted)

    def _encode(self, text: str) -> list[int]:
        return list(self._pair.tokenizer.encode(text, add_special_tokens=False))

    def _decode(self, ids: Sequence[int]) -> str:
        return self._pair.tokenizer.decode(list(ids), clean_up_tokenization_spaces=False)

    def _read_token(self, token: int) -> str:
        """A token by itself. Read after its own like: some tokenizers drop a blank at the beginning."""
        return self._decode([token, token])[len(self._decode([token])) :]


class _Turn:
    def __init__(self, options: Options, text: AnswerText, token_text: Callable[[int], str]) -> None:
        self.text = text
        self.rounds: list[Round] = []
        self.finish_reason: FinishReason | None = None
        self._stop_tokens = options.stop_tokens
        self._token_text = token_text
        self._last = TextAdded((), 0, 0.0, 0.0, 0, 0, 0, 0, ())
        self._mark: Mark = "plain"

    def add(self, played: Round) -> TextAdded:
        self.rounds.append(played)
        begin, pieces = self.text.decoded, self._pieces(played)
        self.finish_reason = "stop" if self.text.stopped else played.stop
        own = played.tokens[played.accepted :]
        described = DraftRound(
            drafter=played.drafter,
            drafted=tuple(map(self._token_text, accepted_first(played))),
            accepted=played.accepted,
            own=self._token_text(own[0]) if own else "",
            seconds=played.seconds,
            draft_seconds=played.draft_seconds,
            begin=begin,
            end=self.text.decoded,
            tree_depth=played.tree_depth,
        )
        first, last = self.rounds[0], self._last
        tokens, seconds = last.tokens + len(played.tokens), last.seconds + played.seconds
        later, time = tokens - len(first.tokens), seconds - first.seconds
        self._last = TextAdded(
            pieces=merged(pieces),
            tokens=tokens,
            seconds=seconds,
            tokens_per_second=later / time if time > 0 else 0.0,
            drafted=last.drafted + len(played.drafted),
            accepted=last.accepted + played.accepted,
            rounds=len(self.rounds),
            memory_bytes=memory_in_use(),
            played=(described,),
        )
        return self._last

    def end(self) -> TextAdded | None:
        pieces = self.text.end(self._mark)
        if self.text.stopped:
            self.finish_reason = "stop"
        return replace(self._last, pieces=merged(pieces), played=()) if pieces else None

    def _pieces(self, played: Round) -> list[Piece]:
        pieces: list[Piece] = []
        for position, token in enumerate(played.tokens):
            last = position == len(played.tokens) - 1
            if last and played.stop == "stop" and token in self._stop_tokens:
                break
            self._mark = "plain"
            if played.drafted:
                self._mark = "accepted" if position < played.accepted else "bonus"
            pieces += self.text.add(token, self._mark)
        return pieces


def accepted_first(played: Round) -> list[int]:
    """What was drafted; of a tree the branch that was accepted comes first."""
    if played.tree_depth is None:
        return list(played.drafted)
    accepted, others = list(played.tokens[: played.accepted]), list(played.drafted)
    for token in accepted:
        others.remove(token)
    return accepted + others
