"""A comparison's results in sentences."""

from collections.abc import Sequence

from app.compare.comparison import NOTICEABLE, Measured
from app.compare.record import Record
from app.engine.difference import Difference
from app.shell.number_text import rate_text
from app.shell.printable import one_line
from mlx_spec.stats import Stats

SHOWN_VERSIONS = ("mlx-spec", "mlx", "mlx-lm")
SHOWN_OPTIONS = ("max_tokens", "seed", "verify")


def drafting_text(runs: Sequence[Stats]) -> str:
    """The share of drafted tokens that was accepted; if most rounds were plain, the share that drafted."""
    rounds, drafted = sum(run.rounds for run in runs), sum(run.draft_n for run in runs)
    tried = rounds - sum(run.rounds_by_drafter.get("none", 0) for run in runs)
    if drafted and tried < rounds / 2:
        return f"drafted in {tried / rounds * 100:.2g}% of rounds"
    return f"{sum(run.draft_n_accepted for run in runs) / drafted:.0%} accepted" if drafted else ""


def unexplained(measured: Sequence[Measured], verify: str) -> list[Measured]:
    """Texts that differ but should not, and not by a near-tie that rounding explains."""
    return [
        m
        for m in measured
        if m.difference and not m.difference.near_tie and not may_differ(m.setting.temperature, verify)
    ]


def sameness(record: Record, setting: int) -> str:
    measured = record.measured(setting)
    differing = [m.difference for m in measured if m.difference is not None]
    if not differing:
        return "the texts are identical" if len(measured) == 1 else f"all {len(measured)} texts are identical"
    whose = "the texts differ" if len(measured) == 1 else f"{len(differing)} of {len(measured)} texts differ"
    verify = record.facts["options"]["verify"]
    if may_differ(record.settings[setting].temperature, verify):
        return f"{whose}, as they may: /verify {verify} draws its own random numbers"
    if all(difference.near_tie for difference in differing):
        margin = max(difference.margin or 0.0 for difference in differing)
        return f"{whose} by near-ties that rounding explains (margin {margin:.2g})"
    return f"{whose} from token {differing[0].position + 1} on; `mlx-spec check` says why"


def difference_text(difference: Difference) -> str:
    if not difference.tolerance:  # stopped before the engine was asked
        return f"token {difference.position + 1}: `mlx-spec check` says why"
    margin = "one answer had ended" if difference.margin is None else f"{difference.margin:.3g} logits apart"
    kind = "a near-tie" if difference.near_tie else "NOT explained by rounding"
    return (
        f"token {difference.position + 1}: {difference.plain!r} plain, {difference.drafted!r} drafted, "
        f"{margin} (rounding: up to {difference.tolerance:.2g}): {kind}"
    )


def circumstances(record: Record) -> str:
    """Where and with what it ran: machine, versions, the options that all runs shared."""
    versions, options = record.facts["versions"], record.facts["options"]
    shown = [f"{name} {versions[name]}" for name in SHOWN_VERSIONS if name in versions]
    shown += [f"{name.replace('_', ' ')} {options[name]}" for name in SHOWN_OPTIONS if name in options]
    return ", ".join([str(record.facts["device"]), *shown])


def heading(record: Record) -> str:
    """When, what and where it ran, in a line."""
    return f"{record.date}  {one_line(record.facts['pair']['name'])}  {one_line(circumstances(record))}"


def sentence(record: Record) -> str:
    """The full verdict on one setting, or the best and worst of several; and whether it was broken off."""
    broken_off = _broken_off(record)
    comparisons = {place: record.comparison(place) for place in record.drafting}
    if len(comparisons) == 1:
        ((place, one),) = comparisons.items()
        speeds = f"{rate_text(one.plain_tps)} tok/s without, {rate_text(one.drafted_tps)} with: "
        return f"{speeds if one.plain_tps else ''}{one.verdict}; {sameness(record, place)}.{broken_off}"
    ranked = record.by_ratio()
    best, worst = ranked[0], ranked[-1]
    texts = sum(comparison.same_text for comparison in comparisons.values())
    whole = len(comparisons) * len(record.prompts)
    same = "all texts are identical" if texts == whole else f"{texts} of {whole} texts are identical"
    if not comparisons[best].plain_tps:  # nor of any other
        return f"{comparisons[best].verdict}; {same}.{broken_off}"
    return (
        f"Best: {record.settings[best].label}, {comparisons[best].verdict}. Worst: "
        f"{record.settings[worst].label}, {comparisons[worst].ratio:.2f} times; {same}.{broken_off}"
    )


def headline(record: Record, place: int) -> tuple[str, str]:
    """A setting's result, shown beside its ratio: faster or slower, same text or not; then the details."""
    one = record.comparison(place)
    once = " in one run" if one.repeats == 1 else ""
    gain = f"faster{once}" if one.won else f"slower{once}" if one.lost else one.verdict.split(",")[0]
    same = sameness(record, place)
    if one.same_text == one.prompts:
        same = "same text" if one.prompts == 1 else f"{one.prompts} same texts"
    drafted = f"accepted {one.acceptance_rate:.0%}, {one.accepted_per_round:.2f} per round"
    if one.accepted_per_round <= NOTICEABLE:
        drafted = "next to nothing was drafted and accepted"
    spread = f"{one.spread}; " if one.plain_tps else ""
    return f"{gain}, {same}", f"{spread}{drafted}.{_broken_off(record)}"


def _broken_off(record: Record) -> str:
    return f" Broken off {record.broken_off.rstrip('.')}." if record.broken_off else ""


def may_differ(temperature: float, verify: str) -> bool:
    """Above temperature 0 only coupled verification gives the plain run's text."""
    return temperature > 0 and verify != "coupled"
