"""transformers' own assistants of Gemma 4: writes tiny checkpoints as it saves them, and its logits.

Run by a Python with that package: `python of_gemma4.py FOLDER` (`rounds.py`).
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import torch
from rounds import EMBEDDING, FOLDER, VOCAB, WIDTH, answer, randomize
from transformers import Gemma4AssistantConfig, Gemma4AssistantForCausalLM, Gemma4TextConfig

KINDS = ["sliding_attention", "full_attention"]
WINDOW = 16


def write(name: str, clustered: bool) -> None:
    torch.manual_seed(2)
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
    model = randomize(Gemma4AssistantForCausalLM(config))
    if clustered:
        model.masked_embedding.token_ordering.copy_(torch.randperm(VOCAB))
    model.save_pretrained(FOLDER / name)

    def logits(one):
        hidden, tokens, found = one.hidden[None, None], [one.ids[-1], *one.drafted], []
        position = torch.tensor([[len(one.ids) - 2]])  # of the last token that the target has read
        # Its masks are of one query: keys and values are cut to the window, as in a target's cache.
        kept = {
            kind: tuple(vars(one)[f"{kind}_{which}"][:, :, -size:] for which in ("keys", "values"))
            for kind, size in zip(KINDS, (WINDOW, len(one.ids)), strict=True)
        }
        for token in tokens[:-1]:
            read = torch.cat([EMBEDDING[token][None, None] * WIDTH**0.5, hidden], -1)
            out = model(inputs_embeds=read, position_ids=position, shared_kv_states=kept)
            found.append(out.logits[0, 0])
            hidden = out.last_hidden_state
        logits = torch.stack(found)
        if clustered:  # tokens of other clusters have one lower than all others
            logits[logits == logits.min(-1, keepdim=True).values] = -torch.inf
        return logits

    answer(name, logits)


write("dense", False)
write("clustered", True)
