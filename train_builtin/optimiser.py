"""Muon for the layers' matrices, AdamW for the rest, and one schedule for both."""

from dataclasses import dataclass

import torch
from torch import nn


@dataclass(frozen=True)
class Cycle:
    """A cycle of the learning rate, up to step `last`; it falls over the last `decay` steps."""

    last: int
    decay: int
    peak: float
    """Factor on the optimisers' full rate."""


def make_optimisers(network: nn.Module, matrix_rate: float, other_rate: float) -> list[torch.optim.Optimizer]:
    """The optimisers; each parameter group stores its full rate as `peak`."""
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
    """Set the rate of a step: each cycle has a linear warm-up, a constant rate, and a linear fall to 2 %."""
    index = next((i for i, cycle in enumerate(cycles) if step < cycle.last), len(cycles) - 1)
    cycle, first = cycles[index], cycles[index - 1].last if index else 0
    falling = max(0.02, (cycle.last - step) / cycle.decay)
    share = cycle.peak * min(1.0, (step - first + 1) / warm_up, falling)
    for optimiser in optimisers:
        for group in optimiser.param_groups:
            group["lr"] = group["peak"] * share


def descend(network: nn.Module, optimisers: list[torch.optim.Optimizer], loss: torch.Tensor) -> None:
    """One optimiser step on a scalar `loss`, with the gradient norm clipped at 1."""
    loss.backward()
    torch.nn.utils.clip_grad_norm_(network.parameters(), 1.0)
    for optimiser in optimisers:
        optimiser.step()
        optimiser.zero_grad(set_to_none=True)
