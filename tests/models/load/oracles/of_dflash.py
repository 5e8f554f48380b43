"""z-lab's DFlash on PyTorch: writes tiny checkpoints as it publishes them, and the logits it computes.

Run by a Python with that package: `python of_dflash.py FOLDER` (`rounds.py`).
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import dflash.model as package
import torch
from rounds import EMBEDDING, FOLDER, OUTPUT, VOCAB, WIDTH, answer, randomize
from safetensors.torch import load_file, save_file
from transformers import Qwen3Config

MASK, BLOCK = VOCAB - 1, 5
WINDOW = {
    "layer_types": ["sliding_attention", "full_attention"], "sliding_window": 6, "use_sliding_window": True,
}  # fmt: skip
SECOND = {"conv_kernel_size": 2, "conv_group_size": 8, "selector_rank": 4, "selector_top_k": 40}


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
    kind = package.DFlash2DraftModel if second else package.DFlashDraftModel
    config.architectures = [kind.__name__]
    if causal is not None:
        config.is_causal = causal
    model = randomize(kind(config))
    model.save_pretrained(FOLDER / name)
    file = FOLDER / name / "model.safetensors"  # published without `.weight`
    weights = {k.removesuffix(".weight") if "codebook" in k else k: x for k, x in load_file(file).items()}
    save_file(weights, file, metadata={"format": "pt"})

    def logits(one):
        block = torch.cat([one.ids[-1:], torch.full((BLOCK - 1,), MASK)])
        rows = model(
            position_ids=torch.arange(len(one.taps) + BLOCK)[None],
            noise_embedding=EMBEDDING[block][None],
            target_hidden=one.taps[None],
        )[:, 1:]
        found = rows @ OUTPUT.T
        if second:
            before = torch.cat([one.ids[-1:], one.drafted])
            each = [chosen(model, rows[:, [i]], found[:, [i]], before[[i]]) for i in range(BLOCK - 1)]
            found = torch.cat(each, 1)
        return found[0]

    answer(name, logits)


def chosen(model, row, logits, before):
    """Logits of the few tokens that the next one is drawn among, as the package draws it."""
    given: list = []
    package._sampling_probs = lambda scores, _: given.append(scores) or torch.softmax(scores, -1)
    _, few, _ = model.candidate_selector.select(row, logits, before, 1.0)
    return torch.full_like(logits, -torch.inf).scatter(-1, few, given[0])


write("full")
write("window", **WINDOW)
write("window_causal", True, **WINDOW)
write("window_whole", False, **WINDOW)
write("second", second=True, **WINDOW)
write("base", rope_parameters={"rope_type": "default", "rope_theta": 1e6})
