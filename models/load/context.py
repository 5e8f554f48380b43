"""How many tokens a model reads at most, from its configuration."""

from typing import Any

_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length")
_UNKNOWN = 4096


def context_limit(config: dict[str, Any]) -> int:
    """Tokens, prompt and answer together.

    A rotation stretched by YaRN counts with its stretch; other stretches are in the named limit already.
    Where the configuration names no limit, the architecture's default holds, and 4096 where that is
    unknown too.
    """
    text = config | (config.get("text_config") or {})
    limit = _named(text) or _architecture_default(str(text.get("model_type"))) or _UNKNOWN
    scaling = text.get("rope_scaling") or {}
    if "yarn" not in (scaling.get("type"), scaling.get("rope_type")):
        return limit
    trained = scaling.get("original_max_position_embeddings") or limit
    return max(limit, int(trained * scaling.get("factor", 1)))


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
