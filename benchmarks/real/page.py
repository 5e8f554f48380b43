"""The page of a run, in Markdown."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from benchmarks.real import bars
from benchmarks.real.figures import PLAIN, Figures, Gain

PAGE = Path(__file__).with_name("page.md")
NOT_COUNTED = "Not counted in this run: that takes temperature 0, and a `--depth` above 0."


def page(
    figures: Figures, pair: str, facts: str, left_out: Sequence[str], differences: Mapping[str, str]
) -> str:
    """The whole page. `differences`: notes on differing answers, by `side, prompt, temperature`."""
    return PAGE.read_text(encoding="utf-8").format(
        pair=pair,
        facts=facts,
        gains="\n\n".join("\n".join(_gains(figures, t)) for t in figures.temperatures),
        same_texts="\n".join(_same_texts(figures, differences)),
        left_out="\n".join(f"- Left out: {line}" for line in left_out),
        passes="\n".join(_passes(figures)) if figures.counted_sides else NOT_COUNTED,
        bars="\n".join(bars.lines(figures)),
        bounds="\n".join(bars.bounds(figures)) if figures.counted_sides else NOT_COUNTED,
    )


def _gains(figures: Figures, temperature: float) -> Iterator[str]:
    """Two rows per side, a column per kind of prompt."""
    yield from _heads(f"temperature {temperature:g}", figures, "all, with prefill", "tokens per pass")
    for side in sorted(set(figures.sides) - {PLAIN}):
        found = [figures.gain(side, group, temperature) for group in figures.groups]
        if whole := found[-1]:
            cells = [*map(_cell, found), f"{whole.with_reading:.2f}", f"{whole.tokens_per_pass:.2f}"]
            yield f"| {side} | {' | '.join(cells)} |"
            cells = [f"{gain.processor:.2f}" if gain else "" for gain in found]
            yield f"| {side}, processor time | {' | '.join(cells)} | | |"


def _passes(figures: Figures) -> Iterator[str]:
    yield from _heads("tokens per pass", figures, "accepted by depth")
    for side in figures.counted_sides:
        cells = [f"{figures.tokens_per_pass(side, group):.2f}" for group in figures.groups]
        rates = " ".join(f"{rate:.2f}" for rate in figures.rates(side)) or "never drafted"
        yield f"| {side} | {' | '.join(cells)} | {rates} |"


def _heads(first: str, figures: Figures, *last: str) -> Iterator[str]:
    heads = [first, *figures.groups, *last]
    yield f"| {' | '.join(heads)} |"
    yield "|---" * len(heads) + "|"


def _cell(gain: Gain | None) -> str:
    return f"{gain.total:.2f} ({gain.middle:.2f})" if gain else ""


def _same_texts(figures: Figures, differences: Mapping[str, str]) -> Iterator[str]:
    counts = figures.same_texts()
    same, of = (sum(each) for each in zip(*counts.values(), strict=True)) if counts else (0, 0)
    yield (
        f"{same} of {of} texts equal those of our plain decoding, token by token (at every temperature; "
        "mlx-lm, which samples its own, at 0)" + ("." if same == of else "; these differ:")
    )
    yield from (f"- {where}: {what}" for where, what in differences.items())
