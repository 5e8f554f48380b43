"""Loading Gemma 4's assistant drafters, as Google publishes them or as mlx-vlm quantizes them."""

from collections.abc import Mapping
from typing import Any

import mlx.core as mx
from mlx_lm.models.gemma4_text import ModelArgs

from mlx_spec import UnsupportedModel
from mlx_spec.drafters.assistant_head import AssistantHead, AssistantShape
from models.load.heads import Config, Weights, number, size, text_model

_FULL = "full_attention"
_ORDER = "masked_embedding.token_ordering"
_RENAMED = {
    "model.embed_tokens": "lm_head",  # tied; input tokens are embedded by the target
    "masked_embedding.centroids": "centroids",
}


def assistant_head(config: Config, weights: Weights, target: Any) -> AssistantHead:
    """As `load_head` wants it."""
    inner = config["text_config"]
    if "lm_head.weight" in weights:
        weights.pop("model.embed_tokens.weight", None)
    for name in list(weights):
        part, _, rest = name.rpartition(".")
        weights[f"{_RENAMED.get(part, part)}.{rest}".removeprefix("model.")] = weights.pop(name)
    clusters, likely = _clusters(config, weights)
    args = _args(inner, weights)
    shape = AssistantShape(
        args,
        size(config, "backbone_hidden_size"),
        _reads(target, args),
        number(inner, "final_logit_softcapping"),
        likely,
    )
    return AssistantHead(shape, target, clusters)


def _clusters(config: Config, weights: Weights) -> tuple[mx.array | None, int]:
    """The tokens of each cluster (clusters, tokens), and how many clusters are searched per token; None and 0
    for a head over the whole vocabulary."""
    if _ORDER not in weights:
        return None, 0
    vocab, order = size(config["text_config"], "vocab_size"), weights.pop(_ORDER)
    count, likely = size(config, "num_centroids"), size(config, "centroid_intermediate_top_k")
    if mx.sort(order).tolist() != list(range(vocab)):
        raise ValueError(f"its token_ordering does not name each of {vocab} tokens once")
    if likely > count or vocab % count:
        raise ValueError(f"it looks at {likely} of {count} clusters of {vocab} tokens")
    return order.astype(mx.int32).reshape(count, -1), likely


def _args(inner: Config, weights: Weights) -> ModelArgs:
    """All layers read shared keys and values. Head widths come from the tensors: not every config names
    both."""
    kinds, heads = list(inner["layer_types"]), size(inner, "num_attention_heads")
    widths = {kind: len(weights[f"layers.{i}.self_attn.q_norm.weight"]) for i, kind in enumerate(kinds)}
    for rope in (inner.get("rope_parameters") or {}).values():
        number(rope, "rope_theta")  # or the first draft fails
    return ModelArgs(
        num_hidden_layers=len(kinds),
        num_kv_shared_layers=len(kinds),
        layer_types=kinds,
        num_attention_heads=heads,
        head_dim=next((width for kind, width in widths.items() if kind != _FULL), widths.get(_FULL, 0)),
        global_head_dim=widths.get(_FULL),  # type: ignore[arg-type]
        hidden_size_per_layer_input=0,
        rms_norm_eps=inner.get("rms_norm_eps", 1e-6),
        rope_parameters=inner.get("rope_parameters"),
        hidden_size=size(inner, "hidden_size"),
        intermediate_size=size(inner, "intermediate_size"),
        vocab_size=size(inner, "vocab_size"),
        sliding_window=size(inner, "sliding_window"),
    )


def _reads(target: Any, args: ModelArgs) -> Mapping[str, int]:
    """By layer type, the last layer of the target with its own keys and values.

    Raises:
        UnsupportedModel: the target is not a Gemma 4, or its keys have another width.
    """
    kind = type(target).__module__.rpartition(".")[2]
    if kind not in ("gemma4", "gemma4_text"):
        raise UnsupportedModel(
            f"Assistants read keys and values of Gemma 4, and this target is of the type {kind}. "
            "Use another drafter."
        )
    of = text_model(target).args
    own = of.layer_types[: of.num_hidden_layers - of.num_kv_shared_layers]
    reads = {}
    for kind in args.layer_types or ():
        reads[kind] = layer = max((i for i, each in enumerate(own) if each == kind), default=-1)
        wanted = args.global_head_dim if kind == _FULL else args.head_dim
        found = target.layers[layer].self_attn.head_dim if layer >= 0 else 0
        if found != wanted:
            raise UnsupportedModel(
                f"This assistant reads keys of {wanted} numbers ({kind}), and this target has {found}. "
                "Use the one made for this target."
            )
    return reads
