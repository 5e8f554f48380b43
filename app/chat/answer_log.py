"""What drafting did in one answer: its rounds, and the running figures the gauges show."""

from collections.abc import Sequence
from dataclasses import replace

from app.engine.events import DraftRound, TextAdded
from mlx_spec.stats import Stats, summarise
from mlx_spec.types import Round

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
        """Of what was there before this log began to grow."""
        self._text: list[str] = []
        self._begun = 0
        """Characters that were there before."""
        self._reached: list[int] = []
        self._accepted: list[int] = []
        self._timed: dict[str, tuple[float, float]] = {}
        """Drafter to the seconds its timed drafts took, and their whole rounds."""
        self._sampled_at = (0.0, 0)

    @classmethod
    def saved(cls, pair: str, text: str, rounds: Sequence[DraftRound], stats: Stats | None) -> "AnswerLog":
        """The log of an answer of another day."""
        log = cls(pair)
        log._stats = stats
        log.rounds += rounds
        for played in rounds:
            log._count(played)
        log._text.append(text)
        log._begun = len(text)
        log.over = True
        return log

    @classmethod
    def continued(
        cls, pair: str, text: str, rounds: Sequence[DraftRound], stats: Stats | None
    ) -> "AnswerLog":
        """The log of an answer that is written on; where its first part has no numbers, of the rest alone."""
        log = cls.saved(pair, text, rounds if stats is not None else (), stats)
        log.over = False
        return log

    @property
    def tokens(self) -> int:
        """Of the answer so far."""
        before = self._stats.tokens if self._stats else 0
        return before + (self.latest.tokens if self.latest else 0)

    @property
    def seconds(self) -> float:
        """Spent decoding so far."""
        before = self._stats.decode_seconds if self._stats else 0.0
        return before + (self.latest.seconds if self.latest else 0.0)

    @property
    def text(self) -> str:
        """The answer so far, as the model gave it."""
        return "".join(self._text)

    @property
    def acceptance_by_position(self) -> tuple[float, ...]:
        """For draft position i: how often it was accepted, given that all before it were."""
        return tuple(
            accepted / reached for accepted, reached in zip(self._accepted, self._reached, strict=True)
        )

    @property
    def draft_share(self) -> float | None:
        """Share of a round spent drafting by the latest drafter, from its rounds timed in two parts; None
        if none was."""
        drafter = next((played.drafter for played in reversed(self.rounds) if played.drafted), None)
        if drafter not in self._timed:
            return None
        draft, whole = self._timed[drafter]
        return draft / whole if whole else None

    def kept(self, stats: Stats) -> Stats:
        """The numbers of what was taken, of an answer for which the engine counted some rounds more."""
        latest = self.latest
        played = self.rounds[len(self.rounds) - latest.rounds :] if latest else []
        rounds = [
            Round((0,) * len(r.drafted), r.accepted, (0,) * (r.accepted + bool(r.own)), r.drafter, r.seconds,
                  draft_seconds=r.draft_seconds)
            for r in played
        ]  # fmt: skip
        return summarise(
            rounds,
            prompt_tokens=stats.prompt_tokens,
            cached_tokens=stats.cached_tokens,
            prefill_seconds=stats.prefill_seconds,
            peak_memory_bytes=stats.peak_memory_bytes,
        )

    def take(self, event: TextAdded) -> None:
        """Add what one event brought."""
        self.latest = event
        self._text += [piece.text for piece in event.pieces]
        for played in event.played:
            begin, end = played.begin + self._begun, played.end + self._begun
            self.rounds.append(replace(played, begin=begin, end=end))
            self._count(played)
        seconds, tokens = self._sampled_at
        if event.seconds - seconds >= SAMPLE_SECONDS:
            self.rates.append((event.tokens - tokens) / (event.seconds - seconds))
            self._sampled_at = event.seconds, event.tokens

    def _count(self, played: DraftRound) -> None:
        for position in range(min(played.accepted + 1, len(played.drafted))):
            if position == len(self._reached):
                self._reached.append(0)
                self._accepted.append(0)
            self._reached[position] += 1
            self._accepted[position] += position < played.accepted
        if played.draft_seconds is not None:
            draft, whole = self._timed.get(played.drafter, (0.0, 0.0))
            self._timed[played.drafter] = draft + played.draft_seconds, whole + played.seconds
