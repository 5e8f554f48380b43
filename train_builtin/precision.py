"""The precision of forward passes."""

import torch

NATIVE = ("avx512_bf16", "amx_bf16", "bf16")
"""Capabilities for native bfloat16 products. Emulated, steps take several times as long."""


def autocast() -> torch.autocast:
    """bfloat16 if the processor supports it, else float32."""
    has = torch.cpu.get_capabilities()
    return torch.autocast("cpu", torch.bfloat16, enabled=any(has.get(name) for name in NATIVE))
