"""What `tune` reports: the cost curve, the best lengths, where drafting stops paying."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from app.shell.tables import plain_table

if TYPE_CHECKING:
    from rich.table import Table

    from mlx_spec.calibrate import Calibration
    from mlx_spec.policy.costs import Costs

ACCEPTANCES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def best_length(costs: "Costs", drafter: str, acceptance: float, context: int) -> tuple[int, float]:
    """The best fixed draft length at an acceptance rate, and its speed as a multiple of plain decoding's."""
    seconds = costs.curve(drafter, costs.longest(drafter), context)
    tokens, gains = 0.0, []
    for k, took in enumerate(seconds):
        tokens += acceptance**k
        gains.append(tokens * float(seconds[0] / took))
    length = max(range(len(gains)), key=gains.__getitem__)
    return length, gains[length]


def pays_from(costs: "Costs", drafter: str, context: int) -> float | None:
    """The lowest acceptance rate at which drafting pays, to 1 %; None if it never does."""
    shares = (a / 100 for a in range(1, 101))
    return next((share for share in shares if best_length(costs, drafter, share, context)[0]), None)


def as_json(calibration: "Calibration") -> dict[str, Any]:
    costs, near, contexts = calibration.costs(), calibration.near, calibration.contexts
    curves = {name: costs.curve(name, costs.longest(name), near).tolist() for name in costs.rounds}
    return {
        "plain_seconds": costs.of("none", 0, near) if costs.plain else None,
        "contexts": contexts,
        "verify": {str(c): calibration.verifying(c) for c in contexts},
        "draft_step": {
            name: {str(c): calibration.draft_step(name, c) for c in contexts}
            for name in calibration.timed_drafters
        },
        "costs": asdict(costs.learned),
        "relative": {
            name: {str(k): seconds / curve[0] for k, seconds in enumerate(curve) if k}
            for name, curve in curves.items()
        },
        "best": {str(c): {name: _best(costs, name, c) for name in curves} for c in contexts},
        "pays_from": {name: pays_from(costs, name, near) for name in costs.rounds},
    }


def tables(calibration: "Calibration") -> Iterator["Table | str"]:
    costs, near = calibration.costs(), calibration.near
    if costs.plain is None:
        yield "Nothing was measured."
        return
    yield _curve(calibration)
    for context in calibration.contexts:
        plain = calibration.verifying(context).get(1)
        for name in calibration.timed_drafters:
            step = calibration.draft_step(name, context)
            if step is not None and plain:
                yield (
                    f"With {context} tokens in the context, one more token drafted by {name} costs "
                    f"{step * 1000:.2f} ms, {step / plain:.2f} of a plain round."
                )
    for name in dict.fromkeys([*costs.rounds, *calibration.timed_drafters]):
        share = pays_from(costs, name, near)
        pays = f"pays from {share:.0%} accepted on" if share else "never pays here"
        pays = pays if name in costs.rounds else "was not timed: too little time was left for it"
        yield f"{'The draft model' if name == 'model' else name} {pays}."
    grid = plain_table("accepted", *(f">{name}: best length" for name in costs.rounds))
    for rows in zip(*(_best(costs, name, near) for name in costs.rounds), strict=True):
        cells = (f"{row['length']} ({row['gain']:.2f}x)" for row in rows)
        grid.add_row(f"{rows[0]['acceptance']:.0%}", *cells)
    yield from [grid] if costs.rounds else ()


def _best(costs: "Costs", name: str, context: int) -> list[dict[str, Any]]:
    best = ((acceptance, *best_length(costs, name, acceptance, context)) for acceptance in ACCEPTANCES)
    return [dict(zip(("acceptance", "length", "gain"), one, strict=True)) for one in best]


def _curve(calibration: "Calibration") -> "Table":
    passes = {c: calibration.verifying(c) for c in calibration.contexts}
    timed = {c: found for c, found in passes.items() if 1 in found}
    heads = (head for c in timed for head in (f">at {c} tokens", ">x plain"))
    grid = plain_table("rows of a pass", *heads)
    for rows in sorted({rows for found in timed.values() for rows in found}):
        cells: list[str] = []
        for found in timed.values():
            seconds = found.get(rows)
            cells += (
                ["", ""] if seconds is None else [f"{seconds * 1000:.1f} ms", f"{seconds / found[1]:.2f}"]
            )
        grid.add_row(str(rows), *cells)
    return grid
