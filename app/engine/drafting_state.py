"""What was learned about drafting with a pair on this machine: measured at its first use, saved on disk.

One small file per pair, replaced atomically: of two processes the later one wins. It is ignored if the
device, BLAS, models, drafters, versions or compilation of passes changed.
"""

import json
from collections.abc import Callable
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any

from app.engine.session import Session
from app.shell import machine, runtime
from mlx_spec.calibrate import calibrate
from mlx_spec.policy.learned import Learned
from mlx_spec.target.model import COMPILES
from models.files import atomic_write
from models.paths import data_folder

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

METHOD = 7
"""Version of the measuring and learning; raise it when the numbers change their meaning."""


@dataclass(frozen=True, slots=True)
class Saved:
    """The file of a pair."""

    pair: str
    circumstances: dict[str, Any]
    learned: Learned


def restore(pair: "LoadedPair") -> bool:
    """Give the saved state to the pair's engine. False if there is none that applies."""
    from pydantic import TypeAdapter

    try:
        saved = TypeAdapter(Saved).validate_json(state_file(pair).read_bytes())
        if saved.circumstances != _circumstances(pair):
            return False
        pair.engine.controller.restore(saved.learned)
    except (OSError, ValueError):
        return False
    return True


def save(pair: "LoadedPair") -> bool:
    """Save what was learned. False if the disk cannot be written to."""
    saved = Saved(_pair_key(pair), _circumstances(pair), pair.engine.controller.learned)
    try:
        atomic_write(state_file(pair), json.dumps(asdict(saved)))
    except OSError:
        return False
    return True


def state_file(pair: "LoadedPair") -> Path:
    return data_folder() / "drafting" / f"{sha256(_pair_key(pair).encode()).hexdigest()[:16]}.json"


def _pair_key(pair: "LoadedPair") -> str:
    spec = pair.spec
    head = f" ({spec.draft_head} tokens)" if spec.draft_head else ""
    draft = (f"{spec.draft}{head}",) if spec.draft else ()
    documents = ("documents",) if spec.documents else ()
    documents += (f"{spec.drafter_bits} bits",) if spec.drafter_bits else ()
    macs = (f"{pair.macs} Macs",) if pair.macs > 1 else ()
    return " + ".join((str(spec.target), *draft, *map(str, spec.drafters), *documents, *macs))


def _circumstances(pair: "LoadedPair") -> dict[str, Any]:
    found = machine.versions()
    return {
        "method": METHOD,
        "device": machine.device_name(),
        "blas": runtime.blas(),
        "compiled": COMPILES,
        "weights": pair.memory_bytes,
        "drafters": list(pair.engine.drafter_names),
        **{package: found.get(package) for package in ("mlx-spec", "mlx", "mlx-lm")},
    }


class TunedSession(Session):
    def __init__(self, pair: "LoadedPair") -> None:
        super().__init__(pair)
        self.is_tuned = restore(pair)

    def tune(
        self, progress: Callable[[int, int], None], skipped: Callable[[], bool], left: Callable[[], bool]
    ) -> None:
        """Measure until done or `skipped`. What was measured by the time the pair is `left` is not kept:
        the next use measures.
        """
        try:
            calibrate(self._pair.engine, progress, lambda: skipped() or left())
        finally:
            self.is_tuned = not left()
        self.save()

    def save(self) -> None:
        if self.is_tuned:
            save(self._pair)
