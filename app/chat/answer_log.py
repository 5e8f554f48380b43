"""What drafting did in one answer: its rounds, and the running figures the gauges show."""

from dataclasses import replace

from app.engine.events import DraftRound, TextAdded, append, text_of
from app.history.records import ChatMessage, pieces_of
from mlx_spec.stats import Stats, draft_share, summarise
from mlx_spec.types import Round

SAMPLE_SECONDS = 0.5
"""Length of one rate sample; over less time a rate is too noisy, and none is shown."""


class AnswerLog:
    def __init__(self, pair: str, answer: ChatMessage | None = None, *, over: bool = False) -> None:
        """`answer`: the saved answer, or the one to continue; `over`: nothing more is added."""
        facts = answer.facts if answer else None
        self.pair = pair
        self.over = over
        self.latest: TextAdded | None = None
        self.rates: list[float] = []
        """Tokens per second, one sample per `SAMPLE_SECONDS` of decoding."""
        marks = facts.marks if facts and not over else ""  # saves memory: a finished log needs none
        self.pieces = list(pieces_of(answer.text, marks)) if answer else []
        self.before = facts.stats if facts and facts.rounds else None
        """Stats of a continued answer's first part. If unknown, only the second part's rounds are kept."""
        self.rounds: list[DraftRound] = list(facts.rounds) if facts and (over or self.before) else []
        self._begin, self._continued_at = len(self.text), len(self.rounds)
        self._sampled_at = (0.0, 0)

    @property
    def text(self) -> str:
        return text_of(self.pieces)

    @property
    def tokens(self) -> int:
        return sum(played.accepted + bool(played.own) for played in self.rounds)

    @property
    def seconds(self) -> float:
        return sum(played.seconds for played in self.rounds)

    @property
    def tokens_per_second(self) -> float:
        """As in `stats`: without the rounds that waited for a prompt."""
        timed = [played for i, played in enumerate(self.rounds) if i not in (0, self._continued_at)]
        seconds = sum(played.seconds for played in timed)
        return sum(played.accepted + bool(played.own) for played in timed) / seconds if seconds else 0.0

    @property
    def draft_share(self) -> float | None:
        """Share of drafting in the round time of the latest drafter; None if no round of it was timed."""
        drafter = next((played.drafter for played in reversed(self.rounds) if played.drafted), None)
        return draft_share([played for played in self.rounds if played.drafter == drafter])

    def stats(self, ended: Stats) -> Stats:
        """Stats of the rounds in this log, a continued answer's first part included.

        `ended`: the engine's, of this part; those of a stopped answer count some later rounds too.
        """
        before = self.before or replace(ended, prefill_seconds=0.0)
        rounds = [
            Round((0,) * len(r.drafted), r.accepted, (0,) * (r.accepted + bool(r.own)), r.drafter, r.seconds,
                  draft_seconds=r.draft_seconds, tree_depth=r.tree_depth)
            for r in self.rounds
        ]  # fmt: skip
        found = summarise(
            rounds,
            prompt_tokens=before.prompt_tokens,
            cached_tokens=before.cached_tokens,
            prefill_seconds=before.prefill_seconds + ended.prefill_seconds,
            peak_memory_bytes=max(before.peak_memory_bytes, ended.peak_memory_bytes),
            continued_at=self._continued_at,
        )
        return replace(found, time_to_first_token=before.time_to_first_token) if self.before else found

    def take(self, event: TextAdded) -> None:
        self.latest = event
        for piece in event.pieces:
            append(self.pieces, piece)
        begin = self._begin
        self.rounds += [replace(r, begin=r.begin + begin, end=r.end + begin) for r in event.played]
        seconds, tokens = self._sampled_at
        if event.seconds - seconds >= SAMPLE_SECONDS:
            self.rates.append((event.tokens - tokens) / (event.seconds - seconds))
            self._sampled_at = event.seconds, event.tokens
