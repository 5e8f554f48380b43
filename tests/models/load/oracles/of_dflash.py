"""z-lab's DFlash on PyTorch: writes tiny checkpoints as it publishes them, and the logits it computes.

Run by a Python with that package: `python of_dflash.py FOLDER`; the folder has ids, taps and embedding.
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import sys
from pathlib import Path

import numpy as np
import torch
from dflash.model import DFlash2DraftModel, DFlashDraftModel
from safetensors.torch import load_file, save_file
from transformers import Qwen3Config

FOLDER = Path(sys.argv[1])
IDS, TAPS, EMBEDDING = (torch.from_numpy(np.load(FOLDER / f"{n}.npy")) for n in ("ids", "taps", "embedding"))
VOCAB, WIDTH = EMBEDDING.shape
MASK, BLOCK = VOCAB - 1, 5
WINDOW = {
    "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 6, "use_sliding_window": True,
}  # fmt: skip


SECOND = {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 4, "selector_top_k": 8}


def write(name: str, causal: bool | None = None, second: bool = False, **more) -> None:
    torch.manual_seed(3)
    config = Qwen3Config(
        vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=64, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, num_hidden_layers=2, attn_implementation="eager", **more,
    )  # fmt: skip
    config.num_target_layers, config.block_size = 4, BLOCK
    config.dflash_config = {
        "mask_token_id": MASK,
        "target_layer_ids": [0, 1, 2],
        **(SECOND if second else {}),
    }
    kind = DFlash2DraftModel if second else DFlashDraftModel
    config.architectures = [kind.__name__]
    if causal is not None:
        config.is_causal = causal
    model = kind(config).eval()
    for name_, parameter in model.named_parameters():
        parameter.data = 0.2 * torch.randn_like(parameter) + (1 if "norm" in name_ else 0)
    model.save_pretrained(FOLDER / name)
    file = FOLDER / name / "model.safetensors"  # published without `.weight`
    weights = {k.removesuffix(".weight") if "codebook" in k else k: x for k, x in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})
    block = torch.tensor([[int(IDS[-1])] + [MASK] * (BLOCK - 1)])
    with torch.no_grad():
        rows = model(
            position_ids=torch.arange(len(TAPS) + BLOCK)[None],
            noise_embedding=EMBEDDING[block],
            target_hidden=TAPS[None],
        )
        rows = rows if torch.is_tensor(rows) else rows[0]
        if second:
            rerank = model.candidate_selector.select
            path = rerank(rows[:, 1:], rows[:, 1:] @ EMBEDDING.T, block[:, 0], 0.0)[0]
            np.save(FOLDER / name / "path.npy", path[0].numpy())
    np.save(FOLDER / name / "logits.npy", (rows @ EMBEDDING.T)[0].numpy())


write("full")
write("window", **WINDOW)
write("window_causal", True, **WINDOW)
write("window_whole", False, **WINDOW)
write("second", second=True, **WINDOW)
write("base", rope_parameters={"rope_type": "default", "rope_theta": 1e6})
