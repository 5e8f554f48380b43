"""transformers' own assistants of Gemma 4: writes tiny checkpoints as it saves them, and its logits.

Run by a Python with that package: `python of_gemma4.py FOLDER`; the folder has the target's embeddings as it
reads them, its last hidden state, and keys and values by layer type.
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import sys
from pathlib import Path

import numpy as np
import torch
from transformers import Gemma4AssistantConfig, Gemma4AssistantForCausalLM, Gemma4TextConfig

FOLDER = Path(sys.argv[1])
KINDS = ["sliding_attention", "full_attention"]
IDS, HIDDEN, EMBEDDING = (
    torch.from_numpy(np.load(FOLDER / f"{n}.npy")) for n in ("ids", "hidden", "embedding")
)
KEPT = {
    kind: tuple(torch.from_numpy(np.load(FOLDER / f"{kind}_{which}.npy")) for which in ("keys", "values"))
    for kind in KINDS
}
VOCAB, WIDTH = EMBEDDING.shape
STEPS, WINDOW = 3, 16


def write(name: str, clustered: bool) -> None:
    torch.manual_seed(3)
    text = Gemma4TextConfig(
        vocab_size=VOCAB, hidden_size=32, intermediate_size=64, num_hidden_layers=3, num_attention_heads=4,
        num_key_value_heads=2, head_dim=8, global_head_dim=16, num_kv_shared_layers=3, sliding_window=WINDOW,
        layer_types=["sliding_attention", *KINDS], hidden_size_per_layer_input=0,
        vocab_size_per_layer_input=0, use_double_wide_mlp=False, attn_implementation="eager",
    )  # fmt: skip
    config = Gemma4AssistantConfig(
        text_config=text, backbone_hidden_size=WIDTH, use_ordered_embeddings=clustered, num_centroids=12,
        centroid_intermediate_top_k=5, attn_implementation="eager",
    )  # fmt: skip
    model = Gemma4AssistantForCausalLM(config).eval().float()
    for each, parameter in model.named_parameters():
        parameter.data = 0.2 * torch.randn_like(parameter) + (1 if "norm" in each else 0)
    if clustered:
        model.masked_embedding.token_ordering.copy_(torch.randperm(VOCAB))
    model.save_pretrained(FOLDER / name)
    hidden, token, found = HIDDEN[None, None], int(IDS[-1]), []
    position = torch.tensor([[len(IDS) - 2]])  # of the last token that the target has read
    for _ in range(STEPS):
        embedded = EMBEDDING[token][None, None] * WIDTH**0.5
        with torch.no_grad():
            # Keys and values are cut to the window, as in a target's cache.
            kept = {
                kind: tuple(x[:, :, -WINDOW:] if kind == KINDS[0] else x for x in both)
                for kind, both in KEPT.items()
            }
            out = model(
                inputs_embeds=torch.cat([embedded, hidden], -1), position_ids=position, shared_kv_states=kept
            )
        found.append(out.logits[0, 0].numpy())
        token, hidden = int(found[-1].argmax()), out.last_hidden_state
    np.save(FOLDER / name / "logits.npy", np.stack(found))


write("dense", False)
write("clustered", True)
