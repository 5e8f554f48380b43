"""Loading multi-token prediction (MTP) layers.

Formats: Qwen's `mtp.` tensors from the original repositories, or converted by mlx-vlm or speculators; GLM's
and DeepSeek's, stored as a layer after the target's last one.
"""

import re
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec import UnsupportedModel
from mlx_spec.drafters.mtp_head import MtpHead
from models.load.heads import Config, Weights, layer_of, size, text_model
from models.pairs.drafter_kinds import text_settings
from models.pairs.original_mtp import COPIES

_TARGETS = ("qwen3_next", "qwen3_5", "qwen3_5_moe", "glm4_moe", "glm4_moe_lite", "deepseek_v3")
"""Types of targets."""
_LATENT = ("glm4_moe_lite", "deepseek_v3")
"""Types with multi-head latent attention."""
_STORED_LESS_ONE = ("qwen3_next", "qwen3_5", "qwen3_5_moe")
"""Types whose original files store norm weights minus 1, and files converted for MLX store them whole."""
_NORMS = ("self_attn.q_norm", "self_attn.k_norm", "input_layernorm", "post_attention_layernorm")
"""Their layer's norms. Means of published ones, less 1 and whole (tests of youssofal/MTPLX): of queries and
keys 0.73 to 0.79 and 1.73 to 1.79, of the others 0.04 to 0.39 and 0.87 to 1.21. Norms outside the layer do
not tell: the last one is 1.25 to 2.58 less 1, and 2.25 whole."""
_WHOLE = 0.8
"""The least mean of all four, if they are whole."""
_ROOTS = re.compile(
    r"^(?:.*\b(?P<qwen>mtp)\.(?!layers\.[1-9])|mtp_layers\.0\.|model\.layers\.(?P<place>\d+)\.)(?P<own>.*)$"
)
_NAMES = {
    # of speculators
    "input_proj": "fc", "final_layernorm": "norm", "hidden_layernorm": "pre_fc_norm_hidden",
    "token_layernorm": "pre_fc_norm_embedding",
    # of GLM and DeepSeek
    "eh_proj": "fc", "shared_head.norm": "norm", "hnorm": "pre_fc_norm_hidden",
    "enorm": "pre_fc_norm_embedding",
}  # fmt: skip
_PARTS = ("gate_proj", "up_proj", "down_proj")


def mtp_head(config: Config, weights: Weights, target: Any) -> MtpHead:
    """As `load_head` wants it."""
    layer, eps = _layer(target)
    own = _joined_experts(_own(weights, target))
    if _kind(target) in _STORED_LESS_ONE and _are_less_one(own):
        own |= {name: x + 1 for name, x in own.items() if "norm" in name}
    weights.clear()
    weights |= own
    inner = text_settings(layer_of(config))
    if inner.get("mtp_use_dedicated_embeddings"):
        raise UnsupportedModel("It has its own embeddings, which are not supported. Use another drafter.")
    vocab, width = size(inner, "vocab_size"), size(inner, "hidden_size")
    return MtpHead(target, layer, vocab, width, eps, _kind(target) in _LATENT)


def _are_less_one(own: Weights) -> bool:
    means = [own[f"layers.0.{name}.weight"].astype(mx.float32).mean() for name in _NORMS]
    return mx.stack(means).mean().item() < _WHOLE  # type: ignore[operator]


def _layer(target: Any) -> tuple[nn.Module, float]:
    """A new layer like the target's last full-attention layer, and the epsilon of its norms."""
    kind = _kind(target)
    if kind not in _TARGETS:
        raise UnsupportedModel(
            f"MTP layers are supported for targets of the types {', '.join(_TARGETS)}, and this one is "
            f"{kind}. Use another drafter."
        )
    args = text_model(target).args
    index = max(i for i, layer in enumerate(target.layers) if "self_attn" in layer)
    return type(target.layers[index])(args, index), args.rms_norm_eps


def _kind(target: Any) -> str:
    return type(target).__module__.rpartition(".")[2]


def _own(weights: Weights, target: Any) -> Weights:
    """The MTP layer's tensors, named as in the head: a shard may also hold the target's tensors."""
    found = [(match, x) for name, x in weights.items() if (match := _ROOTS.match(name))]
    numbers = [match["place"] for match, _ in found if match["own"] == "eh_proj.weight"]
    places = [int(number) for number in numbers if number]
    own: Weights = {}
    if any(match["qwen"] for match, _ in found):
        own = {match["own"]: x for match, x in found if match["qwen"]}
    elif places:  # earlier layers in the same shard are the target's, later ones predict further tokens
        own = {match["own"]: x for match, x in found if match["place"] == str(min(places))}
        own = {_renamed(name): x for name, x in _sanitized(own, target).items()}
    else:
        own = {_renamed(match["own"]): x for match, x in found} or dict(weights)
    return {name: x for name, x in own.items() if not name.startswith(COPIES)}


def _sanitized(own: Weights, target: Any) -> Weights:
    """Convert the tensors as mlx-lm does for a layer of this target: dequantize 8-bit floats, stack experts,
    split DeepSeek's latent projections."""
    first = "model.layers.0."
    given = {f"{first}{name}": x for name, x in own.items() if not name.startswith(COPIES)}
    return {name.removeprefix(first): x for name, x in target.sanitize(given).items()}


def _renamed(name: str) -> str:
    part, _, rest = name.rpartition(".")
    if part in _NAMES:
        return f"{_NAMES[part]}.{rest}"
    return name if name.startswith(COPIES) else f"layers.0.{name}"


def _joined_experts(own: Weights) -> Weights:
    """Stack the experts' matrices, as mlx-lm's layers have them."""
    at = "layers.0.mlp."
    if (both := own.pop(f"{at}experts.gate_up_proj", None)) is not None:
        gate, up = mx.split(both, 2, axis=-2)
        found = dict(zip(_PARTS, (gate, up, own.pop(f"{at}experts.down_proj")), strict=True))
        return own | {f"{at}switch_mlp.{part}.weight": x for part, x in found.items()}
    count = sum(name.startswith(f"{at}experts.") and name.endswith(".up_proj.weight") for name in own)
    if count:
        for part in _PARTS:
            each = [own.pop(f"{at}experts.{i}.{part}.weight") for i in range(count)]
            own[f"{at}switch_mlp.{part}.weight"] = mx.stack(each)
    return own
