"""Answers with drafting against answers without, over all drafters and lengths."""

from collections.abc import Sequence
from itertools import product
from typing import TYPE_CHECKING, Any

from app.compare.comparison import Measured
from app.compare.export import difference_json
from app.compare.plan import Plan, Question, Setting, plan
from app.compare.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.compare.words import unexplained
from app.settings.options import AUTO, AnswerOptions
from app.shell.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from models.load.engine import LoadedPair

LENGTHS = (0, 1, 2, 3, 4, 5)
MODES = {0.0: "greedy", 0.8: "sampled"}

PROMPTS = ("chat-how", "code-sum", "summary-short", "copy-sentence", "reasoning-count")
"""Ids from the default set, chosen so that every drafter has something to draft."""


def default_prompts() -> list[BenchPrompt]:
    return [prompt for prompt in read_prompts(DEFAULT_PROMPTS) if prompt.id in PROMPTS]


def check_plan(
    pair: "LoadedPair", prompts: Sequence[BenchPrompt], max_tokens: int, seed: int = 0, drafter: str = AUTO
) -> Plan:
    """Every prompt with each of the pair's drafters (or those in `drafter`) and with all of them together, at
    every length, greedy and sampled; length 0 only once.
    """
    names = pair.engine.drafter_names if drafter == AUTO else drafter.split("+")
    drafters = [*names, drafter] if len(names) > 1 else names
    settings = [
        Setting(drafter, length, temperature)
        for temperature, drafter, length in product(MODES, drafters, LENGTHS)
        if length or drafter == drafters[0]
    ]
    questions = [Question.of(prompt) for prompt in prompts]
    return plan(questions, settings, AnswerOptions(max_tokens=max_tokens, seed=seed), 1, timed=False)


def verdict(measured: Sequence[Measured]) -> str:
    total, (same, ties, wrong) = len(measured), _counts(measured)
    if wrong:
        return f"NOT lossless: {wrong} of {total} texts differ and rounding does not explain it."
    # At length 0, and where lookup finds nothing, no draft can have changed the text.
    idle = sum(not m.drafted[0].draft_n for m in measured)
    drafted = "nothing was drafted" + (f" for {idle} of them" if idle < total else "")
    end = f"; {drafted}." if idle else "."
    if ties:
        return f"lossless: {same} of {total} texts are identical, {ties} part at a near-tie{end}"
    if total == 1:
        return f"lossless: the one text is identical to the plain one{end}"
    return f"lossless: all {total} texts are identical to the plain ones{end}"


def table(measured: Sequence[Measured]) -> "Table":
    lengths = sorted({m.setting.draft_length or 0 for m in measured})
    grid = plain_table("mode", "drafter", *(f">length\n{length}" for length in lengths), ">tokens\naccepted")
    for temperature, drafter in dict.fromkeys((m.setting.temperature, m.setting.drafter) for m in measured):
        group = [m for m in measured if (m.setting.temperature, m.setting.drafter) == (temperature, drafter)]
        cells = [_cell([m for m in group if m.setting.draft_length == length]) for length in lengths]
        grid.add_row(
            MODES[temperature], drafter, *cells, str(sum(m.drafted[0].draft_n_accepted for m in group))
        )
    return grid


def unproven(measured: Sequence[Measured]) -> list[str]:
    """Drafters without an accepted token: that their texts are identical proves little."""
    proven = {m.setting.drafter for m in measured if m.drafted[0].draft_n_accepted}
    drafters = dict.fromkeys(m.setting.drafter for m in measured)
    return [drafter for drafter in drafters if drafter not in proven]


def as_json(measured: Sequence[Measured]) -> dict[str, Any]:
    same, ties, wrong = _counts(measured)
    return {
        "lossless": not wrong,
        "verdict": verdict(measured),
        "compared": len(measured),
        "identical": same,
        "near_ties": ties,
        "unexplained": wrong,
        "rows": [
            {
                "prompt": m.prompt.id,
                "mode": MODES[m.setting.temperature],
                "drafter": m.setting.drafter,
                "draft_length": m.setting.draft_length,
                "tokens": m.drafted[0].tokens,
                "accepted": m.drafted[0].draft_n_accepted,
                "same_text": m.difference is None,
                "difference": difference_json(m.difference),
            }
            for m in measured
        ],
    }


def _counts(measured: Sequence[Measured]) -> tuple[int, int, int]:
    """(identical texts, near-ties, differences that rounding does not explain)"""
    same, wrong = sum(m.difference is None for m in measured), len(unexplained(measured, "coupled"))
    return same, len(measured) - same - wrong, wrong


def _cell(measured: Sequence[Measured]) -> str:
    same, ties, wrong = _counts(measured)
    if wrong:
        return f"{wrong} DIFFER"
    return f"{same} same" + (f", {ties} tied" if ties else "") if measured else ""
