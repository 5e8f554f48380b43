"""speculators' own drafters: writes tiny checkpoints as it publishes them, and the logits it computes.

Run by a Python with that package: `python of_speculators.py FOLDER`; the folder has ids, taps and embedding.
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import sys
from pathlib import Path

import numpy as np
import torch
from speculators.config import SpeculatorsConfig, VerifierConfig
from speculators.models.dflash import DFlashSpeculatorConfig
from speculators.models.dflash.core import DFlashDraftModel
from speculators.models.dflash2.config import DFlash2SpeculatorConfig
from speculators.models.dflash2.core import DFlash2DraftModel
from speculators.models.dspark.config import DSparkSpeculatorConfig
from speculators.models.dspark.core import DSparkDraftModel
from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from transformers import LlamaConfig, Qwen3Config

FOLDER = Path(sys.argv[1])
IDS, TAPS, EMBEDDING = (np.load(FOLDER / f"{name}.npy") for name in ("ids", "taps", "embedding"))
VOCAB, WIDTH = EMBEDDING.shape
FEW, BLOCK = 50, 5
SIZES = {
    "vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "attn_implementation": "eager",
}  # fmt: skip
WINDOW = {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True}


def made(kind, config, few: bool):
    torch.manual_seed(3)
    model = kind(config)
    for name, parameter in model.named_parameters():
        parameter.data = 0.2 * torch.randn_like(parameter) + (1 if "norm" in name else 0)
    model.embed_tokens.weight.data = torch.from_numpy(EMBEDDING)
    if few:
        kept = torch.sort(torch.randperm(VOCAB)[:FEW]).values
        known = torch.zeros(VOCAB, dtype=torch.bool)
        known[kept] = True
        model.load_vocab_mappings(known, kept - torch.arange(FEW))
    else:
        model.lm_head.weight.data = torch.from_numpy(EMBEDDING)
    return model.eval().float()


def facts(algorithm: str, few: bool):
    proposal = [GreedyTokenProposalConfig(speculative_tokens=3)]
    whose = VerifierConfig(name_or_path=None, architectures=[])
    named = SpeculatorsConfig(
        algorithm=algorithm, proposal_methods=proposal, default_proposal_method="greedy", verifier=whose
    )
    return {"draft_vocab_size": FEW if few else VOCAB, "speculators_config": named}


def eagle(name: str, layer, **flags):
    facts_ = facts("eagle3", True)
    ids = {"eagle_aux_hidden_state_layer_ids": [1, 2, 3]}
    model = made(
        Eagle3DraftModel,
        Eagle3SpeculatorConfig(transformer_layer_config=layer, **facts_, **ids, **flags),
        True,
    )
    rows: list = []
    model.layers[0].register_forward_hook(lambda _, __, out: rows.append(out))
    text = torch.from_numpy(IDS)[None, 1:]
    model(torch.from_numpy(TAPS)[None], text, torch.zeros_like(text), ttt_steps=1)
    save(name, model, model.lm_head(model.norm(rows[0])))


def block(name: str, family: str, few: bool, layers=None, **flags):
    kind, config = {
        "dflash": (DFlashDraftModel, DFlashSpeculatorConfig),
        "dflash2": (DFlash2DraftModel, DFlash2SpeculatorConfig),
        "dspark": (DSparkDraftModel, DSparkSpeculatorConfig),
    }[family]
    inner = Qwen3Config(num_hidden_layers=2, **SIZES, **(layers or {}))
    ids = {"aux_hidden_state_layer_ids": [1, 2, 3], "mask_token_id": VOCAB - 1, "block_size": BLOCK}
    model = made(kind, config(transformer_layer_config=inner, **facts(family, few), **ids, **flags), few)
    at = len(IDS) - 1  # the anchor; later tokens are ignored
    ids, hidden, loss = (torch.zeros(1, at + 8, *more) for more in ((), (TAPS.shape[1],), ()))
    ids, hidden[0, :at], loss[0, at] = ids.long(), torch.from_numpy(TAPS), 1
    ids[0, : at + 1] = torch.from_numpy(IDS)
    last = torch.zeros(1, at + 8, WIDTH)
    _, logits, *_ = model._backbone_forward(hidden, ids, loss, last, torch.zeros_like(ids), max_anchors=1)
    save(name, model, logits)


def save(name: str, model, logits) -> None:
    model.save_pretrained(FOLDER / name)
    np.save(FOLDER / name / "logits.npy", logits[0].detach().numpy())


llama = {"num_hidden_layers": 1, **SIZES}
eagle("eagle", LlamaConfig(**llama))
eagle("eagle_residual", LlamaConfig(**llama), norm_before_residual=True)
eagle("eagle_fc", LlamaConfig(rope_theta=5e5, **llama), norm_before_fc=True, norm_before_residual=True)
eagle("eagle_qwen3", Qwen3Config(rope_theta=1e6, **llama), norm_before_residual=True)
eagle("eagle_31", LlamaConfig(**llama), fc_norm=True, norm_output=True)
with torch.no_grad():
    block("dflash", "dflash", False)
    block("dflash_few", "dflash", True)
    # The window is longer than the text: speculators counts it from the block's first row.
    block("dflash_window", "dflash", False, {**WINDOW, "sliding_window": 64})
    block("dflash_whole", "dflash", False, {**WINDOW, "sliding_window": 64}, sliding_window_non_causal=True)
    block("dflash2", "dflash2", False, conv_group_size=8, selector_rank=4, selector_top_k=8)
    block("dspark", "dspark", False, markov_rank=8)
    block("dspark_few", "dspark", True, markov_rank=8)
    block("dspark_after", "dspark", False, markov_rank=8, sample_from_anchor=False)
