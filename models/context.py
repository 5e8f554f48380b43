"""How many tokens a model reads at most, from its configuration."""

from typing import Any

_KEYS = (
    "max_position_embeddings",
    "n_positions",
    "max_seq_len",
    "max_sequence_length",
    "seq_length",
    "n_ctx",
)
_UNKNOWN = 4096


def context_limit(config: dict[str, Any]) -> int:
    """Tokens, prompt and answer together.

    A stretched rotation (`rope_scaling` with the trained length beside it) counts with its stretch. Where the
    configuration names no limit, the architecture's default holds, and 4096 where that is unknown too.
    """
    text = config | (config.get("text_config") or {})
    limit = _named(text) or _architecture_default(str(text.get("model_type"))) or _UNKNOWN
    scaling = text.get("rope_scaling") or {}
    trained, factor = scaling.get("original_max_position_embeddings"), scaling.get("factor")
    if isinstance(trained, int) and isinstance(factor, int | float):
        return max(limit, int(trained * factor))
    return limit


def _named(values: dict[str, Any]) -> int | None:
    found = (values.get(key) for key in _KEYS)
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def _architecture_default(model_type: str) -> int | None:
    """What transformers fills in for a configuration that leaves the limit out."""
    from transformers import AutoConfig

    try:
        return _named(AutoConfig.for_model(model_type).get_text_config().to_dict())
    except ValueError:
        return None
