"""Muon for the matrices of the layers, AdamW for the rest, and one schedule for both."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Cycle:
    """A stretch of steps up to `last`; over its last `decay` steps the rate falls."""

    last: int
    decay: int
    peak: float
    """Share of the optimisers' full rate."""


def make_optimisers(network: nn.Module, matrix_rate: float, other_rate: float) -> list[torch.optim.Optimizer]:
    """Each group remembers its full rate as `peak`."""
    matrices = [p for name, p in network.named_parameters() if p.ndim == 2 and "embed" not in name]
    rest = [p for name, p in network.named_parameters() if p.ndim != 2 or "embed" in name]
    optimisers: list[torch.optim.Optimizer] = [
        torch.optim.Muon(matrices, lr=matrix_rate, weight_decay=0.01, adjust_lr_fn="match_rms_adamw"),
        torch.optim.AdamW(rest, lr=other_rate, betas=(0.9, 0.95), weight_decay=0.0),
    ]
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["peak"] = group["lr"]
    return optimisers


def set_rate(
    optimisers: list[torch.optim.Optimizer], step: int, cycles: tuple[Cycle, ...], warm_up: int
) -> None:
    """In each cycle a linear warm-up, a constant rate, and a linear fall to a fiftieth of the peak."""
    index = next((i for i, cycle in enumerate(cycles) if step < cycle.last), len(cycles) - 1)
    cycle, first = cycles[index], cycles[index - 1].last if index else 0
    falling = max(0.02, (cycle.last - step) / cycle.decay)
    share = cycle.peak * min(1.0, (step - first + 1) / warm_up, falling)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * share


def descend(network: nn.Module, optimisers: list[torch.optim.Optimizer], loss: torch.Tensor) -> None:
    """One step down the gradient of `loss`, a scalar, with its norm cut at 1."""
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
