"""Scripted runs of a comparison: speeds and tokens, no engine."""

from collections.abc import Sequence
from dataclasses import replace

from app.compare.collector import RunCollector
from app.compare.comparison import Measured
from app.compare.plan import Plan, Question, Setting, plan
from app.compare.prompts import BenchPrompt
from app.compare.record import Record
from app.engine.difference import Difference
from app.engine.events import Piece
from app.settings.options import AnswerOptions
from mlx_spec.stats import Stats, summarise
from mlx_spec.types import Round

PLAIN, MODEL = Setting.plain(0.0), Setting("model", 3, 0.0)
TOKENS = (1, 2, 3)
FACTS = {
    "pair": {"name": "a pair", "target": "t", "draft": "d"},
    "device": "a machine",
    "options": {"verify": "coupled", "seed": 0},
    "versions": {"mlx": "1"},
}


def stats(seconds: float, tokens: Sequence[int] = TOKENS) -> Stats:
    """The stats of an answer with one token per round, each round taking `seconds`."""
    return summarise([Round((t,), 1, (t,), "model", seconds) for t in tokens])


def measured(
    plain: list[int],
    drafted: list[int],
    category: str = "c",
    accepted: int = 8,
    difference: Difference | None = None,
) -> Measured:
    """One prompt with these speeds in tokens per second."""

    def runs(speeds: list[int]) -> tuple[Stats, ...]:
        counts = {"rounds": 5, "draft_n": 10, "draft_n_accepted": accepted}
        return tuple(replace(summarise([]), tokens_per_second=float(speed), **counts) for speed in speeds)

    return Measured(BenchPrompt(category, category, "x"), MODEL, runs(plain), runs(drafted), difference)


def wanted(*settings: Setting, prompts: int = 1, repeats: int = 3) -> Plan:
    asked = [Question.of(BenchPrompt(str(n), f"kind {n}", f"prompt {n}")) for n in range(prompts)]
    return plan(asked, settings or (MODEL,), AnswerOptions(), repeats)


def gathered(
    plain: list[float], drafted: list[float], *, tokens: tuple[int, ...] = TOKENS, of: Plan | None = None
) -> RunCollector:
    """Runs with these seconds per round, one number per repeat."""
    collector = RunCollector(of or wanted())
    for run in collector.plan.runs:
        drafts = collector.plan.settings[run.setting].drafts
        times = drafted if drafts else plain
        if not run.warm_up and run.repeat < len(times):
            ids = tokens if drafts else TOKENS
            pieces = [Piece("te", "accepted"), Piece("xt", "accepted")]
            collector.add(run, ids, stats(times[run.repeat], ids), pieces)
    return collector


def record_of(collector: RunCollector) -> Record:
    record = collector.record(FACTS)
    assert record is not None
    return record
