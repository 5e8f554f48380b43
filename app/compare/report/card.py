"""A report as one Markdown page, to attach to an issue."""

from collections.abc import Iterator
from typing import Any

from models.size_text import size_text

SHOWN_LENGTHS = ("1", "2", "3", "4", "5", "6", "7", "8", "12", "16", "24")
"""Draft lengths in the table; the JSON has all of them."""


def card(report: dict[str, Any]) -> str:
    """The page; `report` is the JSON document of `mlx-spec report`."""
    return "\n".join(_lines(report))


def _lines(report: dict[str, Any]) -> Iterator[str]:
    yield f"# mlx-spec report, {report['machine']['processor']}\n"
    if not report["complete"]:
        yield f"**Partial: {report['why_partial']}**\n"
    yield from _machine(report)
    for pair in report["pairs"]:
        yield f"\n## {pair['name']}\n"
        yield from _pair(pair)
    yield "\nMeasured by `mlx-spec report`. The JSON beside this page holds every number."


def _machine(report: dict[str, Any]) -> Iterator[str]:
    machine = report["machine"]
    system = f"{machine['system']}, {machine['architecture']}"
    yield f"- {system}, {machine['cores']} cores, {size_text(machine['memory_for_models_bytes'])} for models"
    compiled = "compiled" if machine["compiled"] else "not compiled"
    yield f"- MLX computes on {machine['device']}, BLAS {machine['blas']}, passes {compiled}"
    yield "- " + ", ".join(f"{name} {number}" for name, number in report["versions"].items())
    yield f"- {'quick, ' if report['quick'] else ''}{report['seconds']:.0f} s"
    for when in ("before", "after"):
        text = ", ".join(f"{name.replace('_', ' ')} {_fact(fact)}" for name, fact in report[when].items())
        yield f"- {when}: {text}"
    if max(report[when]["load_average"][0] for when in ("before", "after")) > machine["cores"]:
        yield "- the load was higher than the number of cores: other programs may have slowed this down"


def _fact(fact: Any) -> str:
    if isinstance(fact, list):
        return " ".join(f"{value:g}" for value in fact)
    if isinstance(fact, bool):
        return "on" if fact else "off"
    return str(fact)


def _pair(pair: dict[str, Any]) -> Iterator[str]:
    parts = pair["parts"]
    if pair["state"] != "complete":
        yield f"**{pair['state'].capitalize()}.** {pair['why']}".rstrip()
    if check := parts.get("check"):
        yield f"- check: {check['verdict']}{_unfinished(check)}"
    tune = parts.get("tune")
    if tune and tune["plain_seconds"]:
        yield f"- a plain round takes {tune['plain_seconds'] * 1000:.1f} ms"
    bench = parts.get("bench")
    if bench:
        yield f"- bench: {bench['overall']['verdict']}{_unfinished(bench)}"
    yield f"- {_prediction(pair['expected'], bench)}"
    if tune and tune["plain_seconds"]:
        yield from _rounds(tune)
    if bench:
        yield from _categories(bench)


def _unfinished(part: dict[str, Any]) -> str:
    return "" if part["complete"] else " (unfinished)"


def _prediction(expected: dict[str, Any] | None, bench: dict[str, Any] | None) -> str:
    if expected is None:
        return "nothing was predicted for this machine: it is no Mac, or its chip is not in the table"
    ways = []
    # Without a draft model only the plain speed is predicted.
    for way in ("plain",) if expected["length"] is None else ("plain", "drafted"):
        low, high = expected[f"{way}_range"]
        text = f"{way} {expected[way]:.1f} tokens/s ({low:.1f} to {high:.1f})"
        if bench and (measured := bench["overall"][f"{way}_tps"]):
            text += f", measured {measured:.1f}: off by {expected[way] / measured - 1:+.0%}"
        ways.append(text)
    return f"predicted for an {expected['chip']['name']}: {'; '.join(ways)}"


def _rounds(tune: dict[str, Any]) -> Iterator[str]:
    known = {k for costs in tune["relative"].values() for k in costs}
    lengths = [k for k in SHOWN_LENGTHS if k in known]
    yield "\n| a round that drafts | " + " | ".join(lengths) + " |"
    yield "|---|" + "---|" * len(lengths)
    for drafter, costs in tune["relative"].items():
        cells = (f"{costs[k]:.2f}" if k in costs else "" for k in lengths)
        yield f"| {drafter}, x plain | " + " | ".join(cells) + " |"


def _categories(bench: dict[str, Any]) -> Iterator[str]:
    yield "\n| prompts | plain, tokens/s | drafted | ratio (repeats) | accepted per round | same text |"
    yield "|---|---|---|---|---|---|"
    for name, found in [*bench["by_category"].items(), ("all", bench["overall"])]:
        speeds = "- | - | -"
        if found["plain_tps"]:
            low, high = found["ratio_spread"]
            spread = f" ({low:.2f} to {high:.2f})" if found["repeats"] > 1 else ""
            speeds = f"{found['plain_tps']:.1f} | {found['drafted_tps']:.1f} | {found['ratio']:.2f}{spread}"
        yield (
            f"| {name} | {speeds} | {found['accepted_per_round']:.2f} "
            f"| {found['same_text']} of {found['prompts']} |"
        )
