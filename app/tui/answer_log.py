"""What drafting did in one answer: its rounds, and the running figures the gauges show."""

from collections.abc import Sequence

from app.events import DraftRound, TextAdded
from mlx_spec.stats import Stats

SAMPLE_SECONDS = 0.5
"""A rate measured over less than this says little: nothing is shown before, and one sample covers it."""


class AnswerLog:
    """Grows with the answer; figures are counted as rounds come, whatever the answer's length."""

    def __init__(self, pair: str) -> None:
        self.pair = pair
        """Name of the pair that answers."""
        self.rounds: list[DraftRound] = []
        self.latest: TextAdded | None = None
        self.over = False
        """Nothing is added any more."""
        self.rates: list[float] = []
        """Tokens per second, one sample per `SAMPLE_SECONDS` of decoding."""
        self._stats: Stats | None = None
        self._text: list[str] = []
        self._reached: list[int] = []
        self._stood: list[int] = []
        self._timed = self._timed_draft = 0.0
        self._sampled_at = (0.0, 0)

    @classmethod
    def saved(cls, pair: str, text: str, rounds: Sequence[DraftRound], stats: Stats | None) -> "AnswerLog":
        """The log of an answer of another day. Of a continued answer only the rest has rounds."""
        log = cls(pair)
        log.rounds += rounds
        log._stats = stats
        log.over = True
        log._text.append(text[max(0, len(text) - rounds[-1].end) if rounds else 0 :])
        return log

    @property
    def tokens(self) -> int:
        """Of the answer so far."""
        return self.latest.tokens if self.latest else self._stats.tokens if self._stats else 0

    @property
    def seconds(self) -> float:
        """Spent decoding so far."""
        return self.latest.seconds if self.latest else self._stats.decode_seconds if self._stats else 0.0

    @property
    def text(self) -> str:
        """The answer so far, as the model gave it."""
        return "".join(self._text)

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """For draft position i: how often it stood, given that all before it did."""
        return tuple(stood / reached for stood, reached in zip(self._stood, self._reached, strict=True))

    @property
    def draft_share(self) -> float | None:
        """Share of a round spent drafting, from the rounds timed in two parts; None if none was."""
        return self._timed_draft / self._timed if self._timed else None

    def take(self, event: TextAdded) -> None:
        """Add what one event brought."""
        self.latest = event
        self._text += [piece.text for piece in event.pieces]
        self.rounds += event.played
        for played in event.played:
            self._count(played)
        seconds, tokens = self._sampled_at
        if event.seconds - seconds >= SAMPLE_SECONDS:
            self.rates.append((event.tokens - tokens) / (event.seconds - seconds))
            self._sampled_at = event.seconds, event.tokens

    def _count(self, played: DraftRound) -> None:
        for position in range(min(played.accepted + 1, len(played.drafted))):
            if position == len(self._reached):
                self._reached.append(0)
                self._stood.append(0)
            self._reached[position] += 1
            self._stood[position] += position < played.accepted
        if played.draft_seconds is not None:
            self._timed += played.seconds
            self._timed_draft += played.draft_seconds
