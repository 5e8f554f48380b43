"""What kinds of drafters can be made, and how each begins."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import mlx.nn as nn

from mlx_spec.training.fit import Learner


@dataclass(frozen=True, slots=True)
class Maker:
    """One kind.

    Args:
        taps: layers of the target that it reads.
        learner: from the target, its config and the tokens that it is to know.
        save: write what was fitted to an empty folder: module, what to note in its config, bits.
    """

    taps: Callable[[nn.Module], tuple[int, ...]]
    learner: Callable[[nn.Module, Mapping[str, Any], Sequence[int]], Learner]
    save: Callable[[Path, nn.Module, Mapping[str, Any], int | None], None]
