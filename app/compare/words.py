"""What a comparison says, in sentences."""

from app.compare.bench.comparison import Comparison
from app.compare.record import Record

TOLD_VERSIONS = ("mlx-spec", "mlx", "mlx-lm")
TOLD_OPTIONS = ("max_tokens", "seed", "verify")


def speed(comparison: Comparison, repeats: int) -> str:
    """Faster, no gain or slower, with the spread."""
    if comparison.won:
        told = f"drafting is {comparison.ratio:.2f} times as fast"
    elif comparison.lost:
        told = f"drafting is slower ({comparison.ratio:.2f} times)"
    else:
        told = comparison.verdict
    low, high = comparison.ratio_spread
    spread = f" ({low:.2f} to {high:.2f} over {repeats} repeats)" if repeats > 1 else " (one run each)"
    return told if "over the repeats" in told else told + spread


def sameness(record: Record, setting: int) -> str:
    """Whether the texts agree."""
    measured = record.measured(setting)
    differing = [m.difference for m in measured if m.difference is not None]
    if not differing:
        return "the texts are identical" if len(measured) == 1 else f"all {len(measured)} texts are identical"
    whose = "the texts differ" if len(measured) == 1 else f"{len(differing)} of {len(measured)} texts differ"
    verify = record.facts["options"]["verify"]
    if record.settings[setting].temperature > 0 and verify != "coupled":
        return f"{whose}, as they may: /verify {verify} draws its own random numbers"
    if all(difference.near_tie for difference in differing):
        margin = max(difference.margin or 0.0 for difference in differing)
        return f"{whose} by near-ties that rounding explains (margin {margin:.2g})"
    return f"{whose} from token {differing[0].position + 1} on; `mlx-spec check` says why"


def circumstances(record: Record) -> str:
    """Where and with what it ran: machine, versions, the options that all runs shared."""
    facts = record.facts
    versions = [f"{name} {facts['versions'][name]}" for name in TOLD_VERSIONS if name in facts["versions"]]
    options = facts["options"]
    shared = [f"{name.replace('_', ' ')} {options[name]}" for name in TOLD_OPTIONS if name in options]
    return ", ".join([str(facts["device"]), *versions, *shared])


def sentence(record: Record) -> str:
    """One setting judged in full; of several, the best one and the worst. Says if it was broken off."""
    broken_off = f" Broken off {record.broken_off.rstrip('.')}." if record.broken_off else ""
    return _verdict(record) + broken_off


def _verdict(record: Record) -> str:
    comparisons = {place: record.comparison(place) for place in record.drafting}
    if len(comparisons) == 1:
        ((place, one),) = comparisons.items()
        speeds = f"{one.plain_tps:.0f} tok/s without, {one.drafted_tps:.0f} with"
        return f"{speeds}: {speed(one, record.repeats)}; {sameness(record, place)}."
    best = max(comparisons, key=lambda place: comparisons[place].ratio)
    worst = min(comparisons, key=lambda place: comparisons[place].ratio)
    texts = sum(comparison.same_text for comparison in comparisons.values())
    whole = len(comparisons) * len(record.prompts)
    same = "all texts are identical" if texts == whole else f"{texts} of {whole} texts are identical"
    return (
        f"Best: {record.settings[best].label}, {speed(comparisons[best], record.repeats)}. "
        f"Worst: {record.settings[worst].label}, {comparisons[worst].ratio:.2f} times; {same}."
    )
