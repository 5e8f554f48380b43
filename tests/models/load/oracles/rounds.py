"""What a package is given: the target's tables, and rounds of a draft to compute the logits of.

Each script runs twice: it writes its checkpoints, then the logits of the rounds that are in their folders.
"""
# pyright: reportMissingImports=false

import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import torch

torch.set_num_threads(1)  # on busy cores several wait for each other
FOLDER = Path(sys.argv[1])
EMBEDDING, OUTPUT = (torch.from_numpy(np.load(FOLDER / f"{name}.npy")) for name in ("embedding", "output"))
VOCAB, WIDTH = EMBEDDING.shape


def randomize(model, norms: float = 1):
    """Random weights; those of norms around `norms`."""
    for name, parameter in model.named_parameters():
        parameter.data = 0.2 * torch.randn_like(parameter) + (norms if "norm" in name else 0)
    return model.eval().float()


@torch.no_grad()
def answer(name: str, logits_of: Callable[[SimpleNamespace], torch.Tensor]) -> None:
    """Write the logits `[depth, vocab]` of each round of this checkpoint.

    Args:
        logits_of: given the text `ids`, the tokens `drafted` and what the target made of the text but its
            last token.
    """
    for file in (FOLDER / name).glob("*.npz"):
        one = SimpleNamespace(**{key: torch.from_numpy(x) for key, x in np.load(file).items()})
        np.save(file.with_suffix(".npy"), logits_of(one).numpy())
