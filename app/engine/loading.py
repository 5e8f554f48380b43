"""Loading a pair in this process, on the thread that does all its work."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from app.shell import runtime
from models.hub.endpoint import check_variables
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def load(spec: PairSpec, show: Callable[[str], object] = lambda text: None) -> "LoadedPair":
    """Load the pair; raises like `models.load.engine.load`, and MachineTrouble as `check_variables`."""
    runtime.prepare()
    check_variables()  # wrong ones crash the model libraries
    from models.load import engine

    return engine.load(spec, show)
