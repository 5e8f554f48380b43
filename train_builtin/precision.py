"""The precision that forward passes are computed in."""

import torch

NATIVE = ("avx512_bf16", "amx_bf16", "bf16")
"""Any of these: the processor multiplies bfloat16 itself. Emulated, steps take several times as long."""


def autocast() -> torch.autocast:
    """bfloat16 where the processor has it, else float32."""
    has = torch.cpu.get_capabilities()
    return torch.autocast("cpu", torch.bfloat16, enabled=any(has.get(name) for name in NATIVE))
