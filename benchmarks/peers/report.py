"""Printing the comparison: every ratio with its range, the wanted ratios, and the missed ones."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from app.shell.machine import circumstances
from app.shell.output import data
from app.shell.tables import plain_table, print_table
from benchmarks.peers.ratios import PAIRS

Row = Mapping[str, Any]


def show(found: Mapping[str, Any]) -> None:
    """Print the JSON document for people."""
    for temperature in sorted({row["temperature"] for row in found["rows"]}):
        _speeds(found["speeds"], temperature)
        _table(found["rows"], temperature)
    for line in [*_lengths(found), *_rest(found), *_promises(found)]:
        data(line)


def json_line(value: Any) -> str:
    """A JSON document on one line, numbers with five significant digits."""
    return json.dumps(_rounded(value))


def dated_line(value: Mapping[str, Any]) -> str:
    """`json_line` with the date, the machine and the versions. Needs `runtime.prepare`."""
    return json_line({**value, "date": datetime.now(UTC).isoformat(timespec="seconds"), **circumstances()})


def _rounded(value: Any) -> Any:
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, dict):
        return {name: _rounded(inner) for name, inner in value.items()}
    return [_rounded(inner) for inner in value] if isinstance(value, list | tuple) else value


def cell(row: Row) -> str:
    """A ratio with its range; `!` if it misses the wanted one."""
    low, high = row["spread"]
    return f"{row['ratio']:.2f} ({low:.2f}-{high:.2f}){'!' if row['holds'] is False else ''}"


def grid(rows: list[Row], temperature: float) -> tuple[list[str], dict[tuple[str, str], dict[str, Row]]]:
    """(groups, {(ours, peer): {group: row}}) of one temperature, in the order of PAIRS."""
    here = [row for row in rows if row["temperature"] == temperature]
    order = list(dict.fromkeys(row["group"] for row in here))
    by_pair = {
        pair: {row["group"]: row for row in here if (row["ours"], row["peer"]) == pair} for pair in PAIRS
    }
    return order, {pair: found for pair, found in by_pair.items() if found}


def _table(rows: list[Row], temperature: float) -> None:
    order, by_pair = grid(rows, temperature)
    table = plain_table(f"temperature {temperature:g}", *(f">{group}" for group in order))
    for (ours, peer), found in by_pair.items():
        cells = (cell(found[group]) if group in found else "" for group in order)
        table.add_row(f"{ours} / {peer}", *cells)
    print_table(table)


def _speeds(speeds: list[Row], temperature: float) -> None:
    here = [speed for speed in speeds if speed["temperature"] == temperature]
    order = list(dict.fromkeys(speed["group"] for speed in here))
    table = plain_table(f"tokens/s, temperature {temperature:g}", *(f">{group}" for group in order))
    for side in sorted({speed["side"] for speed in here}):
        by_group = {s["group"]: f"{s['tokens_per_second']:.0f}" for s in here if s["side"] == side}
        table.add_row(side, *(by_group.get(group, "") for group in order))
    print_table(table)


def _lengths(found: Mapping[str, Any]) -> Iterator[str]:
    for name in dict.fromkeys(best["side"] for best in found["best_lengths"]):
        these = (
            f"{b['category']} T={b['temperature']:g}: {b['way']} {b['length']}"
            for b in found["best_lengths"]
            if b["side"] == name
        )
        yield f"{name}: {'; '.join(these)}"


def _rest(found: Mapping[str, Any]) -> Iterator[str]:
    for speed in found["speeds"]:
        if speed["side"] == "ours 3, other draft" and speed["group"] == "in domain":
            yield (
                f"other draft, temperature {speed['temperature']:g}: "
                f"{speed['acceptance_rate']:.0%} of its tokens are accepted"
            )
    if worst := found["worst"]:
        yield f"worst category: {worst['group']}, temperature {worst['temperature']:g}: {worst['ratio']:.2f}"
    if chat := found["long_chat"]:
        low, high = chat["spread"]
        yield (
            f"chat of {len(chat['context_tokens'])} turns against a fresh engine with the same context: "
            f"{chat['ratio']:.2f} ({low:.2f}-{high:.2f}), wanted {chat['wanted']}"
        )
    for side, (same, of) in found["same_texts"].items():
        if same < of:
            yield f"{side}: {same} of {of} greedy texts are those of our plain decoding"
    for parted in found["differences"]:
        kind = "a near-tie" if parted["near_tie"] else "NOT explained by rounding"
        yield f"  {parted['side']}, {parted['prompt']}: token {parted['position']}, {kind}"
    for name, reason in found["left_out"].items():
        yield f"left out: {name}: {reason}"


def _promises(found: Mapping[str, Any]) -> Iterator[str]:
    promised = [row for row in found["rows"] if row["wanted"] is not None]
    missed = [row for row in promised if not row["holds"]]
    yield (
        f"{len(promised) - len(missed)} of {len(promised)} wanted ratios hold; missed:"
        if missed
        else (f"All {len(promised)} wanted ratios hold.")
    )
    passes = {(s["side"], s["group"], s["temperature"]): s["tokens_per_pass"] for s in found["speeds"]}
    for row in missed:
        of = row["group"], row["temperature"]
        yield (
            f"  {row['ours']} / {row['peer']}, {row['group']}, temperature {row['temperature']:g}: "
            f"{cell(row)} wanted {row['wanted']}, decoding alone {row['decode_ratio']:.2f}; "
            f"tokens per pass {passes[row['ours'], *of]:.2f} and {passes[row['peer'], *of]:.2f}"
        )
