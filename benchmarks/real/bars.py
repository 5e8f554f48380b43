"""The gains wanted on a real model, whether they are reached, and the figures that explain a miss."""

from collections.abc import Iterator
from dataclasses import dataclass

from benchmarks.peers.ratios import NEVER_SLOWER
from benchmarks.real.figures import Figures, Gain


@dataclass(frozen=True, slots=True)
class Bar:
    """A wanted gain of a side over our plain decoding."""

    side: str
    group: str
    temperature: float
    wanted: float


def bars(figures: Figures) -> list[Bar]:
    """The wanted gains of the measured sides: over all prompts, and no slowdown on any kind of prompt."""
    wanted = [Bar("auto", "all", 0.0, 1.5), Bar("auto", "all", 0.8, 1.3), Bar("eagle", "all", 0.0, 1.4)]
    wanted += [Bar("auto", kind, t, NEVER_SLOWER) for t in figures.temperatures for kind in figures.kinds]
    return [bar for bar in wanted if bar.side in figures.sides and bar.temperature in figures.temperatures]


def lines(figures: Figures) -> Iterator[str]:
    """A line per bar, followed by figures that explain it if it is missed."""
    for bar in bars(figures):
        gain = figures.gain(bar.side, bar.group, bar.temperature)
        if gain is None:
            continue
        holds = gain.total >= bar.wanted
        verdict = "HOLDS" if holds else "**MISSED**"
        yield (
            f"- {verdict} {bar.side}, {bar.group}, temperature {bar.temperature:g}: {gain.total:.2f}, "
            f"wanted {bar.wanted:.2f} ({gain.processor:.2f} by processor time)"
        )
        if not holds:
            yield from (f"    - {reason}" for reason in reasons(figures, bar, gain))


def reasons(figures: Figures, bar: Bar, gain: Gain) -> Iterator[str]:
    """Tokens per pass, cost of a pass, rounds by drafter, and acceptance by depth."""
    cost = gain.tokens_per_pass / gain.total
    yield (
        f"{gain.tokens_per_pass:.2f} tokens per pass, and a pass takes {cost:.2f} plain rounds: at this cost "
        f"{bar.wanted * cost:.2f} tokens are needed, at this many tokens a cost of "
        f"{gain.tokens_per_pass / bar.wanted:.2f}"
    )
    shares = figures.drafters(bar.side, bar.group, bar.temperature)
    yield "rounds by drafter: " + ", ".join(f"{name} {share:.0%}" for name, share in shares.items())
    for side in figures.counted_sides:
        rates = " ".join(f"{rate:.2f}" for rate in figures.rates(side, bar.group))
        yield f"{side}: accepted by depth {rates or 'nothing'}"


def bounds(figures: Figures) -> Iterator[str]:
    """The best gain that the acceptance and the costs of rounds allow, by drafter, over all prompts."""
    for side in figures.counted_sides:
        drafter = side.rpartition(" ")[0]
        costs = ", ".join(f"{k} takes {cost:.2f}" for k, cost in figures.costs(drafter).items())
        if best := figures.best_depth(side, drafter):
            yield (
                f"- {drafter} has a draft in {best.share:.0%} of its rounds; by length, in plain rounds: "
                f"{costs}. At the best one, {best.length}, such a round brings {best.tokens:.2f} tokens, so "
                f"all of them {best.ratio:.2f} of plain decoding"
            )
