"""One answer's rounds as they come: marked text, tool calls, and the statistics so far."""

from collections import deque
from collections.abc import Callable
from dataclasses import replace

from app.engine.answer_reader import AnswerReader
from app.engine.answer_text import AnswerText
from app.engine.events import DraftRound, FinishReason, Mark, Piece, ScoredToken, TextAdded, ToolCall, merged
from app.settings.options import AnswerOptions
from mlx_spec.types import Likeliness, Round


class Turn:
    """Turns an answer's rounds into events."""

    def __init__(
        self, options: AnswerOptions, text: AnswerText, calls: AnswerReader, token_text: Callable[[int], str]
    ) -> None:
        self.text = text
        self.tool_calls: tuple[ToolCall, ...] = ()
        self._calls = calls
        self.rounds: list[Round] = []
        self.finish_reason: FinishReason | None = None
        self._stop_tokens = options.stop_tokens
        self._token_text = token_text
        self._last = TextAdded((), 0, 0.0, 0.0, 0, ())
        self._mark: Mark = "plain"
        self._scored: deque[ScoredToken] = deque()
        """Tokens whose text is not shown yet."""

    def add(self, played: Round) -> TextAdded:
        import mlx.core as mx

        # What opened a thought in the prompt is shown with the first round's text.
        begin, (pieces, taken) = self.text.decoded if self.rounds else 0, self._pieces(played)
        if self.text.stopped:
            played = played.cut(taken, "stop")  # at the token that completed a stop text
        self.rounds.append(played)
        self.finish_reason = played.stop
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
            memory_bytes=mx.get_active_memory(),
            played=(described,),
            scored=self._shown(),
        )
        return self._last

    def end(self) -> TextAdded | None:
        last = self._calls.add(self.text.end(self._mark))
        if self.text.stopped:
            self.finish_reason = "stop"
        held, self.tool_calls = self._calls.end(
            self._mark, cut=self.finish_reason != "stop", stopped_at=self.text.stopped_at
        )
        scored = self._shown() if self.text.stopped else tuple(self._scored)
        if not (last or held or scored):
            return None
        return replace(self._last, pieces=merged([*last, *held]), played=(), scored=scored)

    def _shown(self) -> tuple[ScoredToken, ...]:
        """The scored tokens of text that is shown by now."""
        found: list[ScoredToken] = []
        while self._scored and self._scored[0].begin < self.text.shown:
            found.append(self._scored.popleft())
        return tuple(found)

    def _score(self, token: int, found: Likeliness) -> ScoredToken:
        top = tuple((self._token_text(other), logprob) for other, logprob in found.top)
        return ScoredToken(self._token_text(token), self.text.decoded, found.own, top)

    def _pieces(self, played: Round) -> tuple[list[Piece], int]:
        """The round's text, and how many of its tokens were used before a stop text ended the answer."""
        pieces: list[Piece] = []
        for position, token in enumerate(played.tokens):
            last = position == len(played.tokens) - 1
            if self.text.stopped:
                return pieces, position
            if last and played.stop == "stop" and token in self._stop_tokens:
                break
            self._mark = "plain"
            if played.drafted:
                self._mark = "accepted" if position < played.accepted else "bonus"
            if played.likeliness:
                self._scored.append(self._score(token, played.likeliness[position]))
            pieces += self._calls.add(self.text.add(token, self._mark))
        return pieces, len(played.tokens)


def accepted_first(played: Round) -> list[int]:
    """The drafted tokens; of a tree, the accepted branch first."""
    if played.tree_depth is None:
        return list(played.drafted)
    accepted, others = list(played.tokens[: played.accepted]), list(played.drafted)
    for token in accepted:
        others.remove(token)
    return accepted + others
