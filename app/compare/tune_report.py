"""What `tune` tells: the cost curve, the best lengths, where drafting stops paying, the width edges."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from mlx_spec.policy.kernels import TargetShape, edges

if TYPE_CHECKING:
    from rich.table import Table

    from mlx_spec.policy.calibrate import Calibration
    from mlx_spec.policy.costs import Costs

ACCEPTANCES = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)
GPUS = {
    "M1, M2": "applegpu_g13g", "M3, M4": "applegpu_g16s", "M5": "applegpu_g17s", "Ultra (M3)": "applegpu_g15d"
}  # fmt: skip
"""One GPU architecture of each kind that MLX treats alike."""


def best_lengths(costs: "Costs", context: int) -> dict[str, list[dict[str, Any]]]:
    """By drafter: for some acceptances, the best fixed length and what it gains over plain decoding."""
    return {
        name: [{"acceptance": a, **_best(costs, name, a, context)} for a in ACCEPTANCES]
        for name in costs.rounds
    }


def pays_from(costs: "Costs", drafter: str, context: int) -> float | None:
    """The share of drafted tokens that must stand for drafting to pay, to 1 %; None if none suffices."""
    return next(
        (a / 100 for a in range(1, 101) if _best(costs, drafter, a / 100, context)["length"]),
        None,
    )


def as_json(calibration: "Calibration", shape: TargetShape | None) -> dict[str, Any]:
    """All of it as plain values; seconds."""
    costs, contexts = calibration.costs(), (calibration.near, calibration.far)
    return {
        "contexts": list(contexts),
        "verify": {str(c): calibration.verifying(c) for c in contexts},
        "draft_step": {str(c): calibration.draft_step(c) for c in contexts},
        "costs": costs.as_json(),
        "best": {str(c): best_lengths(costs, c) for c in contexts} if costs.plain else {},
        "pays_from": {name: pays_from(costs, name, calibration.near) for name in costs.rounds},
        "edges": _edges(shape) if shape else {},
    }


def tables(calibration: "Calibration", shape: TargetShape | None) -> Iterator["Table | str"]:
    """Tables and sentences for people, in order."""
    costs = calibration.costs()
    if costs.plain is None:
        yield "Nothing was measured."
        return
    yield _curve(calibration)
    yield from _sentences(calibration)
    yield _lengths(costs, calibration.near)
    if shape:
        yield "Rows after which Metal's kernels get dearer for this target (from MLX's source, not measured):"
        yield from (f"  {name}: {text}" for name, text in _edge_texts(shape).items())


def _best(costs: "Costs", drafter: str, acceptance: float, context: int) -> dict[str, Any]:
    tokens, gains = 0.0, []
    seconds = costs.curve(drafter, costs.longest(drafter), context)
    for k, took in enumerate(seconds):
        tokens += acceptance**k
        gains.append(tokens * float(seconds[0] / took))
    length = max(range(len(gains)), key=gains.__getitem__)
    return {"length": length, "gain": round(gains[length], 3)}


def _curve(calibration: "Calibration") -> "Table":
    from app.shell.tables import plain_table

    contexts = [c for c in (calibration.near, calibration.far) if 1 in calibration.verifying(c)]
    grid = plain_table(
        "rows of a pass", *(head for c in contexts for head in (f">at {c} tokens", ">x plain"))
    )
    passes = [calibration.verifying(c) for c in contexts]
    for rows in sorted({rows for found in passes for rows in found}):
        cells = []
        for found in passes:
            timed = rows in found
            cells += [f"{found[rows] * 1000:.1f} ms", f"{found[rows] / found[1]:.2f}"] if timed else ["", ""]
        grid.add_row(str(rows), *cells)
    return grid


def _sentences(calibration: "Calibration") -> Iterator[str]:
    costs = calibration.costs()
    for context in (calibration.near, calibration.far):
        step, plain = calibration.draft_step(context), calibration.verifying(context).get(1)
        if step is not None and plain:
            yield (
                f"With {context} tokens in the context, one more drafted token costs {step * 1000:.2f} ms, "
                f"{step / plain:.2f} of a plain round."
            )
    for name in costs.rounds:
        share, who = (
            pays_from(costs, name, calibration.near),
            "The draft model" if name == "model" else "Lookup",
        )
        yield f"{who} pays from {share:.0%} accepted on." if share else f"{who} never pays here."


def _lengths(costs: "Costs", context: int) -> "Table":
    from app.shell.tables import plain_table

    grid = plain_table("accepted", *(f">{name}: best length" for name in costs.rounds))
    best = best_lengths(costs, context)
    for place, acceptance in enumerate(ACCEPTANCES):
        row = [rows[place] for rows in best.values()]
        grid.add_row(f"{acceptance:.0%}", *(f"{r['length']} ({r['gain']:.2f}x)" for r in row))
    return grid


def _edges(shape: TargetShape) -> dict[str, list[dict[str, Any]]]:
    """On this machine's GPU, or on every kind of Apple GPU where there is none."""
    import mlx.core as mx

    here = str(mx.device_info().get("architecture"))
    gpus = {here: here} if edges(shape, here) else GPUS
    return {
        name: [{"rows": edge.rows, "beyond": edge.beyond} for edge in edges(shape, gpu)]
        for name, gpu in gpus.items()
    }


def _edge_texts(shape: TargetShape) -> dict[str, str]:
    texts = {}
    for name, found in _edges(shape).items():
        rows: dict[str, list[str]] = {}
        for edge in found:
            rows.setdefault(edge["beyond"], []).append(str(edge["rows"]))
        texts[name] = "; ".join(f"{', '.join(after)}: {beyond}" for beyond, after in rows.items())
    return texts
