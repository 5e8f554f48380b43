"""What was learned about drafting with a pair on this machine: measured at its first use, kept on disk.

One small file per pair, written whole and moved into place, so that two processes cannot spoil it: the
later one's stays. Left alone when the device, the BLAS, the models, the versions, or whether passes are
compiled, are others.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.engine.session import Session
from mlx_spec.policy.calibrate import SECONDS, Calibration
from mlx_spec.target.model import COMPILES
from mlx_spec.types import Options
from models.files import atomic_write, parse_json
from models.paths import data_folder

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

METHOD = 4
"""Which way of measuring and learning the numbers come from: one more whenever they mean something else."""


def restore(pair: "LoadedPair") -> bool:
    """Give the pair's engine what was learned before. False if there is nothing of use."""
    try:
        kept = parse_json(state_file(pair).read_text(encoding="utf-8"))
        if kept["circumstances"] != _circumstances(pair):
            return False
        pair.engine.controller.restore(kept["learned"])
    except (OSError, ValueError, LookupError, TypeError, AttributeError):
        return False
    return True


def measure(
    pair: "LoadedPair",
    progress: Callable[[int, int], None] = lambda done, total: None,
    skipped: Callable[[], bool] = lambda: False,
) -> Calibration:
    """Time rounds; `keep` writes down what that taught.

    Args:
        progress: told (kinds of rounds timed, kinds in all).
        skipped: asked after each; what was timed until then is used, the rest is learned in answers.
    """
    calibration = Calibration(pair.engine)
    try:
        for done, total in calibration.run(SECONDS):
            progress(done, total)
            if skipped():
                break
    finally:
        calibration.finish()
    return calibration


def keep(pair: "LoadedPair") -> bool:
    """Write down what was learned. A disk that cannot be written to costs only the keeping: False."""
    kept = {
        "pair": _pair_key(pair),
        "circumstances": _circumstances(pair),
        "learned": pair.engine.controller.as_json(),
    }
    try:
        atomic_write(state_file(pair), json.dumps(kept))
    except OSError:
        return False
    return True


def adapts(options: Options) -> bool:
    """Whether the draft length is the engine's to choose: only then is there anything to learn."""
    return options.draft_length is None and options.drafter != "none"


def state_file(pair: "LoadedPair") -> Path:
    """Where the pair's state is kept."""
    return data_folder() / "drafting" / f"{sha256(_pair_key(pair).encode()).hexdigest()[:16]}.json"


def _pair_key(pair: "LoadedPair") -> str:
    spec = pair.spec
    head = f" ({spec.draft_head} tokens)" if spec.draft_head else ""
    return f"{spec.target} + {spec.draft}{head}" if spec.draft else str(spec.target)


def _circumstances(pair: "LoadedPair") -> dict[str, Any]:
    from app.shell.machine import device_name, versions
    from app.shell.runtime import blas

    found = versions()
    return {
        "method": METHOD,
        "device": device_name(),
        "blas": blas(),
        "compiled": COMPILES,
        "weights": pair.memory_bytes,
        **{package: found.get(package) for package in ("mlx-spec", "mlx", "mlx-lm")},
    }


class TunedSession(Session):
    """A session that measures what drafting costs before its first answer, and keeps what it learns."""

    def __init__(self, pair: "LoadedPair") -> None:
        super().__init__(pair)
        self.is_tuned = restore(pair)

    def tune(self, progress: Callable[[int, int], None], skipped: Callable[[], bool]) -> None:
        """Measure what drafting costs here; see `measure`."""
        measure(self._pair, progress, skipped)
        self.keep()
        self.is_tuned = True

    def keep(self) -> None:
        """Write down what the answers so far taught."""
        keep(self._pair)
