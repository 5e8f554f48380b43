"""`tune`: measure what rounds cost here, and what follows for the draft length."""

from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app import exit_codes
from app.commands import arguments as args
from app.output import Progress, data, json_data

if TYPE_CHECKING:
    from mlx_spec.controller import Costs

EXAMPLE = "\b\nExamples:\n  mlx-spec tune\n  mlx-spec tune qwen3-8b --json"

ACCEPTANCES = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95)


def command(
    pair: args.PairName = None,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
    draft_head: args.DraftHead = None,
    json: args.Json = False,
) -> int:
    """Measure what rounds of every draft length cost on this machine, and keep it.

    From then on --draft-length auto adapts to the text with this pair; until then it is 3.
    Measure on a quiet machine, and again after changing the machine or the versions.
    """
    from app.machine import device_name, versions
    from app.round_costs import measure
    from app.runtime import blas

    loaded = args.loaded_pair(args.chosen_pair(pair, target, draft, revision, draft_head))
    line = Progress()
    line.show("Measuring rounds ...")
    try:
        costs = measure(loaded)
    finally:
        line.clear()
    if json:
        facts = {"device": device_name(), "blas": blas(), "versions": versions()}
        json_data({**asdict(costs), "best": best_lengths(costs), **facts})
    else:
        _print(costs)
    return exit_codes.DONE


def best_lengths(costs: "Costs") -> dict[str, list[dict[str, Any]]]:
    """By drafter: for some acceptances, the best fixed length and what it gains over plain decoding."""
    return {name: [{"acceptance": a, **_best(costs, name, a)} for a in ACCEPTANCES] for name in costs.rounds}


def _best(costs: "Costs", drafter: str, acceptance: float) -> dict[str, Any]:
    def gain(k: int) -> float:
        tokens = sum(acceptance**i for i in range(k + 1))
        return tokens * costs.plain / costs.of(drafter, k)

    length = max(range(costs.longest(drafter) + 1), key=gain)
    return {"length": length, "gain": round(gain(length), 3)}


def _print(costs: "Costs") -> None:
    from app.tables import plain_table, print_table

    lengths = range(1, max(map(costs.longest, costs.rounds)) + 1)
    grid = plain_table("a round that drafts", ">plain", *(f">{k}" for k in lengths))
    for name in costs.rounds:
        of = [f"{costs.of(name, k) / costs.plain:.2f}" if k <= costs.longest(name) else "" for k in lengths]
        grid.add_row(f"{name}, x plain", "1.00", *of)
    print_table(grid)
    data(f"A plain round takes {costs.plain * 1000:.1f} ms.")
    best = plain_table("accepted", *(f">{a:.0%}" for a in ACCEPTANCES))
    for name, rows in best_lengths(costs).items():
        best.add_row(f"{name}, best length (gain)", *(f"{r['length']} ({r['gain']:.2f}x)" for r in rows))
    print_table(best)
