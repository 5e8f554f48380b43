"""speculators' own MTP layer of Qwen3.5: writes a tiny checkpoint as it publishes it, and its logits.

Run by a Python with that package: `python of_mtp.py FOLDER` (`rounds.py`).
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import torch
from rounds import EMBEDDING, FOLDER, OUTPUT, VOCAB, WIDTH, answer, randomize
from speculators.config import SpeculatorsConfig, VerifierConfig
from speculators.models.mtp import MTPDraftModel, MTPSpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from torch.nn.functional import pad
from transformers import Qwen3_5TextConfig

STEPS = 3
proposal = GreedyTokenProposalConfig(speculative_tokens=STEPS)
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
randomize(model, norms=0)  # stored less 1
model.embed_tokens.weight.data, model.lm_head.weight.data = EMBEDDING, OUTPUT
model.save_pretrained(FOLDER / "mtp")
rows: list = []
model.mtp_layers[0].register_forward_hook(lambda _, __, out: rows.append(out))


def logits(one):
    """Each step is a pass over the whole text, which reads the last rows of the steps before."""
    ids, hidden, found = one.ids, one.hidden, []
    for token in one.drafted:
        rows.clear()
        # It leaves out the rows whose next tokens it would not know in training.
        known, *_ = model(pad(ids, (0, STEPS))[None], hidden[None])
        found.append(known[0][0, -1])
        hidden, ids = torch.cat([hidden, rows[0][0, -1:]]), torch.cat([ids, token[None]])
    return torch.stack(found)


answer("mtp", logits)
