"""What rounds cost with a pair on this machine: measured by `tune`, kept on disk, used from then on.

Left alone when the device, the BLAS, the models or the versions they were measured with are others.
"""

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mlx_spec.controller import Costs
from models.paths import data_folder

if TYPE_CHECKING:
    from models.load import LoadedPair

SECONDS = 5.0
"""Time that measuring may take."""


def use_costs(pair: "LoadedPair") -> None:
    """Give the pair's engine its costs if they are known, so that `auto` draft lengths adapt."""
    known = _read().get(_pair_key(pair))
    if known is not None and known["measured_with"] == _circumstances(pair):
        pair.engine.costs = _costs(known)


def measure(pair: "LoadedPair") -> Costs:
    """Measure anew and keep the result. A disk that cannot be written to costs only the keeping."""
    costs = pair.engine.measure_costs(SECONDS)
    kept = {**_read(), _pair_key(pair): {**asdict(costs), "measured_with": _circumstances(pair)}}
    file = costs_file()
    try:
        file.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        partial = file.with_suffix(f".{os.getpid()}")
        partial.write_text(json.dumps(kept, indent=1))
        partial.replace(file)
    except OSError:
        pass
    return costs


def costs_file() -> Path:
    return data_folder() / "costs.json"


def _read() -> dict[str, Any]:
    """All that is kept; a file that cannot be used holds nothing."""
    try:
        kept = json.loads(costs_file().read_text())
        return {name: entry for name, entry in kept.items() if _costs(entry) and entry["measured_with"]}
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return {}


def _costs(entry: dict[str, Any]) -> Costs:
    rounds = {name: {int(k): float(s) for k, s in by.items()} for name, by in entry["rounds"].items()}
    return Costs(float(entry["plain"]), rounds)


def _pair_key(pair: "LoadedPair") -> str:
    spec = pair.spec
    head = f" ({spec.draft_head} tokens)" if spec.draft_head else ""
    return f"{spec.target} + {spec.draft}{head}" if spec.draft else str(spec.target)


def _circumstances(pair: "LoadedPair") -> dict[str, Any]:
    from app.machine import device_name, versions
    from app.runtime import blas

    found = versions()
    return {
        "device": device_name(),
        "blas": blas(),
        "weights": pair.memory_bytes,
        **{package: found.get(package) for package in ("mlx-spec", "mlx", "mlx-lm")},
    }
