"""speculators' own drafters: writes tiny checkpoints as it publishes them, and the logits it computes.

Run by a Python with that package: `python of_speculators.py FOLDER` (`rounds.py`).
"""
# pyright: reportMissingImports=false, reportCallIssue=false

import torch
from rounds import EMBEDDING, FOLDER, OUTPUT, VOCAB, WIDTH, answer, randomize
from speculators.config import SpeculatorsConfig, VerifierConfig
from speculators.models.dflash import DFlashSpeculatorConfig
from speculators.models.dflash.core import DFlashDraftModel
from speculators.models.dflash2.config import DFlash2SpeculatorConfig
from speculators.models.dflash2.core import DFlash2DraftModel
from speculators.models.dspark.config import DSparkSpeculatorConfig
from speculators.models.dspark.core import DSparkDraftModel
from speculators.models.eagle3 import Eagle3DraftModel, Eagle3SpeculatorConfig
from speculators.proposals.greedy import GreedyTokenProposalConfig
from torch.nn.functional import pad
from transformers import LlamaConfig, Qwen3Config

FEW, BLOCK = 50, 5
SIZES = {
    "vocab_size": VOCAB, "hidden_size": WIDTH, "intermediate_size": 64, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 8, "attn_implementation": "eager",
}  # fmt: skip
WINDOW = {"layer_types": ["sliding_attention", "full_attention"], "use_sliding_window": True}


def made(kind, config, few: bool):
    torch.manual_seed(3)
    model = randomize(kind(config))
    model.embed_tokens.weight.data = EMBEDDING
    if few:
        kept = torch.sort(torch.randperm(VOCAB)[:FEW]).values
        known = torch.zeros(VOCAB, dtype=torch.bool)
        known[kept] = True
        model.load_vocab_mappings(known, kept - torch.arange(FEW))
    else:
        model.lm_head.weight.data = OUTPUT
    return model


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
    seen: list = []
    model.lm_head.register_forward_hook(lambda _, __, out: seen.append(out[0]))

    def logits(one):
        """Its training: step k reads the k-th token after a row's, and the row itself of the step before."""
        depth = len(one.drafted)
        text = torch.cat([one.ids, one.drafted])[None, 1:]
        seen.clear()
        model(pad(one.taps, (0, 0, 0, depth))[None], text, torch.zeros_like(text), ttt_steps=depth)
        return torch.stack([step[len(one.taps) - 1] for step in seen])

    save(name, model, logits)


def block(name: str, family: str, few: bool, layers=None, **flags):
    kind, config = {
        "dflash": (DFlashDraftModel, DFlashSpeculatorConfig),
        "dflash2": (DFlash2DraftModel, DFlash2SpeculatorConfig),
        "dspark": (DSparkDraftModel, DSparkSpeculatorConfig),
    }[family]
    inner = Qwen3Config(num_hidden_layers=2, **SIZES, **(layers or {}))
    ids = {"aux_hidden_state_layer_ids": [1, 2, 3], "mask_token_id": VOCAB - 1, "block_size": BLOCK}
    model = made(kind, config(transformer_layer_config=inner, **facts(family, few), **ids, **flags), few)

    def logits(one):
        at, depth = len(one.ids) - 1, len(one.drafted)  # the anchor; later states are ignored
        ids = pad(torch.cat([one.ids, one.drafted]), (0, BLOCK))[None]
        taps, loss = pad(one.taps, (0, 0, 0, ids.shape[1] - at))[None], torch.zeros(ids.shape)
        loss[0, at] = 1
        last = torch.zeros(*ids.shape, WIDTH)
        states, found, *_ = model._backbone_forward(
            taps, ids, loss, last, torch.zeros_like(ids), max_anchors=1
        )
        skipped = BLOCK - depth
        before = ids[:, [at] * skipped + list(range(at, at + depth))]
        if family == "dspark":
            found = found + model.markov_head.block_bias(prev_token_ids=before, hidden_states=states)
        if family == "dflash2":
            likely, scores = model.candidate_selector.select(found, states, before)
            found = torch.full_like(found, -torch.inf).scatter(-1, likely, scores)
        return found[0, skipped:]

    save(name, model, logits)


def save(name: str, model, logits_of) -> None:
    model.save_pretrained(FOLDER / name)

    def spread(one):
        logits = logits_of(one)
        if model.d2t is None:
            return logits
        found = torch.full((len(logits), VOCAB), -torch.inf)
        found[:, torch.arange(FEW) + model.d2t] = logits
        return found

    answer(name, spread)


llama = {"num_hidden_layers": 1, **SIZES}
eagle("eagle", LlamaConfig(**llama))
eagle("eagle_residual", LlamaConfig(**llama), norm_before_residual=True)
eagle("eagle_fc", LlamaConfig(rope_theta=5e5, **llama), norm_before_fc=True, norm_before_residual=True)
eagle("eagle_qwen3", Qwen3Config(rope_theta=1e6, **llama), norm_before_residual=True)
eagle("eagle_31", LlamaConfig(**llama), fc_norm=True, norm_output=True)
block("dflash", "dflash", False)
block("dflash_few", "dflash", True)
# The window is longer than the text: speculators counts it from the block's first row.
block("dflash_window", "dflash", False, {**WINDOW, "sliding_window": 64})
block("dflash_whole", "dflash", False, {**WINDOW, "sliding_window": 64}, sliding_window_non_causal=True)
block("dflash2", "dflash2", False, conv_group_size=8, selector_rank=4, selector_top_k=40)
block("dspark", "dspark", False, markov_rank=8)
block("dspark_few", "dspark", True, markov_rank=8)
block("dspark_after", "dspark", False, markov_rank=8, sample_from_anchor=False)
