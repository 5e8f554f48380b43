"""speculators' own MTP layer of Qwen3.5: writes a tiny checkpoint as it publishes it, and its rows.

Run by a Python with that package: `python of_mtp.py FOLDER`; the folder has ids, the target's embedding and
its last hidden state of each token.
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import sys
from pathlib import Path

import numpy as np
import torch
from speculators.config import SpeculatorsConfig, VerifierConfig
from speculators.models.mtp import MTPDraftModel, MTPSpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from transformers import Qwen3_5TextConfig

FOLDER = Path(sys.argv[1])
IDS, HIDDEN, EMBEDDING = (
    torch.from_numpy(np.load(FOLDER / f"{n}.npy")) for n in ("ids", "hidden", "embedding")
)
VOCAB, WIDTH = EMBEDDING.shape

proposal = GreedyTokenProposalConfig(speculative_tokens=3)
whose = VerifierConfig(name_or_path=None, architectures=[])
named = SpeculatorsConfig(
    algorithm="mtp", proposal_methods=[proposal], default_proposal_method="greedy", verifier=whose
)
layer = Qwen3_5TextConfig(
    vocab_size=VOCAB, hidden_size=WIDTH, intermediate_size=64, num_hidden_layers=4, num_attention_heads=4,
    num_key_value_heads=2, head_dim=8, rms_norm_eps=1e-5, attn_implementation="eager",
    rope_parameters={"rope_type": "default", "rope_theta": 10000.0, "partial_rotary_factor": 0.25},
)  # fmt: skip
torch.manual_seed(3)
model = MTPDraftModel(MTPSpeculatorConfig(transformer_layer_config=layer, speculators_config=named))
for name, parameter in model.named_parameters():  # norms are stored less 1
    parameter.data = (0.1 if "norm" in name else 0.2) * torch.randn_like(parameter)
model.embed_tokens.weight.data = EMBEDDING
model.eval().float().save_pretrained(FOLDER / "mtp")
rows: list = []
model.mtp_layers[0].register_forward_hook(lambda _, __, out: rows.append(out))
with torch.no_grad():
    model(IDS[None], HIDDEN[None])
np.save(FOLDER / "mtp" / "rows.npy", rows[0][0].numpy())
