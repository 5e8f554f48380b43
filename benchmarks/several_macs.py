"""The predicted speed of one target split over several Macs: a table of docs/serving.md.

`python -m benchmarks.several_macs` prints it. Nothing here was measured. Each Mac reads its part of the
weights, keys and values, launches every layer's kernels, and does two all-reduces per layer, whose time does
not depend on the number of rows. The draft is whole on every Mac.
"""

from collections.abc import Iterator

from benchmarks.known_models import known_model
from models.speed.chips import Chip, find_chip
from models.speed.roofline import (
    LONGEST_DRAFT,
    Model,
    expected_tokens,
    fitted,
    launch_seconds,
    pass_seconds,
    round_seconds,
)

FENCE = 180e-6
"""Seconds from the GPU to the CPU and back (ml-explore/mlx#1773, #4438: 150 to 200 us)."""
LINKS = {"RDMA": 30e-6, "TCP": 300e-6}
"""Seconds of an exchange over Thunderbolt: 27 to 31 us (jundot/omlx#3118), about 300 us (J. Geerling,
2025-12)."""
SUMS_PER_LAYER = 2
OWN = 3
"""Exchanges of a round between the CPUs, beside the layers': its start, its plan, its result."""
RATE = 0.7
"""Assumed acceptance rate."""
PAIRS = {
    "Qwen3-32B + 0.6B": ("qwen3-32b", "qwen3-0.6b"),
    "Llama-3.3-70B + 1B": ("llama-3.3-70b", "llama-3.2-1b"),
}
CHIPS = ("M4 Pro", "M3 Ultra")
MACS = (2, 4)


def lines() -> Iterator[str]:
    """The table, in Markdown."""
    yield "| Macs | target + draft, 4-bit | link | plain, tokens/s | drafted | length | gain |"
    yield "|---|---|---|---|---|---|---|"
    for name, pair in PAIRS.items():
        for chip in map(find_chip, CHIPS):
            yield _row(name, pair, chip, 1, "")
            for macs in MACS:
                yield from (_row(name, pair, chip, macs, link) for link in LINKS)


def shared_seconds(target: Model, chip: Chip, rows: int, macs: int, link: float) -> float:
    """Seconds of one pass of a target split over `macs` Macs."""
    launches = launch_seconds(target, fitted())
    alone = pass_seconds(target, chip, rows=rows)
    if macs == 1:
        return alone
    return (alone - launches) / macs + launches + SUMS_PER_LAYER * target.shape.layers * (FENCE + link)


def speeds(target: Model, draft: Model, chip: Chip, macs: int, link: float) -> list[float]:
    """Tokens per second at draft lengths 0, 1, 2, ..."""
    own = OWN * link if macs > 1 else 0.0
    found = [1 / (shared_seconds(target, chip, 1, macs, link) + own)]
    for length in range(1, LONGEST_DRAFT + 1):
        rest = round_seconds(target, draft, chip, length) - pass_seconds(target, chip, rows=length + 1)
        seconds = rest + shared_seconds(target, chip, length + 1, macs, link) + own
        found.append(expected_tokens(RATE, length) / seconds)
    return found


def _row(name: str, pair: tuple[str, str], chip: Chip, macs: int, link: str) -> str:
    target, draft = map(known_model, pair)
    plain, *drafted = speeds(target, draft, chip, macs, LINKS.get(link, 0.0))
    best = max(drafted)
    length = drafted.index(best) + 1
    figures = f"{plain:.1f} | {best:.1f} | {length} | {best / plain:.2f}"
    return f"| {macs} {chip.name} | {name} | {link or '-'} | {figures} |"


if __name__ == "__main__":
    print("\n".join(lines()))
