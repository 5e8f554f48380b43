"""P-EAGLE heads in published formats are loaded; others are refused by name."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten

from mlx_spec import Engine, UnsupportedModel
from mlx_spec.drafters.peagle_head import PEagleHead
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec.heads import KNOWN, states_of, target
from tests.mlx_spec.peagle_heads import MASK, SHAPE, by_hand, head_for
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt
from tests.models.drafter_folders import edit_tensors, write_folder
from tests.models.load.published_eagle import sglang, speculators

PROMPT = prompt(9, 1)
FEW = replace(SHAPE, tokens=KNOWN)


def publish(folder: Path, head: PEagleHead, packaging: str, **changes: Any) -> Path:
    weights: dict[str, mx.array] = {}
    for name, x in tree_flatten(head.parameters()):
        own = str(name).replace("deeper.0.", "layers.1.")
        own = own.replace("midlayer.", "layers.0.") if packaging != "vLLM" else own
        weights[own] = x  # type: ignore[assignment]
    weights["mask_hidden"] = weights["mask_hidden"][None, None]
    if head.shape.tokens == KNOWN:
        weights["d2t"] = mx.array(KNOWN, mx.int64) - mx.arange(len(KNOWN))
    if packaging == "speculators":
        proposals = [{"proposal_type": "greedy", "speculative_tokens": 6}]
        config = speculators({"mask_token_id": MASK, "embed_requires_grad": True}) | {
            "architectures": ["PEagleSpeculator"], "speculators_model_type": "peagle",
            "speculators_config": {"algorithm": "peagle", "proposal_methods": proposals},
        }  # fmt: skip
        config["transformer_layer_config"]["num_hidden_layers"] = 2
    else:
        config = sglang({"ptd_token_id": MASK}) | {"num_hidden_layers": 2}
    if packaging == "SpecForge":
        named = {"architectures": ["PEagleDraftModel"], "draft_vocab_size": 9, "mask_token_id": MASK}
        config = {k: x for k, x in config.items() if k != "ptd_token_id"} | named
    return write_folder(folder, config | changes, weights)


@pytest.mark.parametrize(
    ("packaging", "shape", "embeds", "depth"),
    [
        ("speculators", SHAPE, True, 6),
        ("speculators", FEW, True, 6),
        ("vLLM", SHAPE, True, 8),
        ("vLLM", FEW, False, 8),
        ("SpecForge", FEW, True, 8),
        ("speculators", replace(SHAPE, norm_before_residual=True), True, 6),
    ],
)
def test_its_drafts_are_those_of_its_equations(
    packaging: str, shape: Any, embeds: bool, depth: int, tmp_path: Path
) -> None:
    head = head_for(shape, embeds)
    changes = {"norm_before_residual": shape.norm_before_residual}
    folder = publish(tmp_path / "head", head, packaging, **changes)
    assert check_drafter(folder) == "peagle"
    drafter = LOADERS["peagle"](folder, target(), {})
    args = replace(drafter.head.shape.args, max_position_embeddings=None)
    assert replace(drafter.head.shape, args=args) == shape and drafter.candidate.room == depth
    engine = Engine(target(), [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, "peagle", max_tokens=6, draft_length=3)
    assert len(rounds) > 2
    for one in rounds:
        taps = [np.array(x[0]) for x in states_of(one.before[:-1])]
        assert one.is_near(*by_hand(head, taps, one.before, len(one.read.drafted)), known=shape.tokens)


def test_damaged_heads_and_masks_of_other_targets_are_refused_by_name(tmp_path: Path) -> None:
    folder = publish(tmp_path / "head", head_for(), "speculators", mask_token_id=VOCAB)
    with pytest.raises(UnsupportedModel, match="mask is token 120, and it has 120 tokens"):
        LOADERS["peagle"](folder, target(), {})
    publish(folder, head_for(), "speculators", mask_token_id="x")
    with pytest.raises(BrokenFiles, match="names no 'mask_token_id'"):
        LOADERS["peagle"](folder, target(), {})
    publish(folder, head_for(), "vLLM", num_hidden_layers=200)
    with pytest.raises(BrokenFiles, match=r"its num_hidden_layers is 200, and it has \d\d tensors"):
        LOADERS["peagle"](folder, target(), {})
    for lost, message in (
        ("mask_hidden", "names no 'mask_hidden'"),
        ("layers.1.mlp.up_proj.weight", "does not match its config.json"),
        ("lm_head.weight", "names no 'lm_head.weight'"),
    ):
        edit_tensors(publish(folder, head_for(), "speculators"), lambda tensors, lost=lost: tensors.pop(lost))
        with pytest.raises(BrokenFiles, match=message):
            LOADERS["peagle"](folder, target(), {})
