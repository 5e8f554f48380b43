"""Read from a model's config.json: whether mlx-lm knows the architecture, its RoPE, its context limit."""

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.errors import BadChoice
from models.pairs.config_json import check_config
from models.pairs.drafter_kinds import text_settings

_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length",
           "model_max_length")  # fmt: skip
_UNKNOWN_LIMIT = 4096


def check_architecture(config: dict[str, Any], where: str) -> None:
    """Raise BadChoice for an architecture unknown to mlx-lm, before its weights are fetched."""
    check_config(config, where)
    kind = config["model_type"]
    if not _is_module(kind):
        from mlx_lm.utils import MODEL_REMAPPING

        if not _is_module(str(MODEL_REMAPPING.get(kind, kind))):
            raise BadChoice(f"{where} is of type '{kind}', which mlx-lm does not know. Choose another model.")


def rope_settings(config: Mapping[str, Any]) -> dict[str, Any]:
    """The settings of RoPE that transformers 5 writes into `rope_parameters`, under their older names.

    Most of mlx-lm's code reads only these, and without them takes a default.
    """
    named, text, found = config.get("rope_parameters"), config.get("text_config"), dict[str, Any]()
    if isinstance(named, Mapping) and config.get("model_type") == "gemma3_text":
        named = named.get("full_attention", named)  # its layers with a window are not scaled
    if isinstance(named, Mapping):
        found = {key: named[key] for key in ("rope_theta", "partial_rotary_factor") if key in named}
        if (kind := named.get("rope_type", "default")) != "default":
            found["rope_scaling"] = {"type": kind, **named}
    found = {key: value for key, value in found.items() if config.get(key) is None}
    inner = rope_settings(text) if isinstance(text, Mapping) else {}
    return found | ({"text_config": {**text, **inner}} if isinstance(text, Mapping) and inner else {})


def context_limit(config: dict[str, Any]) -> int:
    """Tokens, prompt and answer together.

    YaRN scaling multiplies the limit; other RoPE scalings are already included in the named limit. Without a
    named limit the architecture's default holds, or 4096 if that is unknown too.
    """
    text = text_settings(config)
    limit = _named_limit(text) or _default_limit(str(text.get("model_type"))) or _UNKNOWN_LIMIT
    scaling = text.get("rope_scaling") or {}
    if "yarn" not in (scaling.get("type"), scaling.get("rope_type")):
        return limit
    trained = scaling.get("original_max_position_embeddings") or limit
    return max(limit, int(trained * scaling.get("factor", 1)))


def _is_module(kind: str) -> bool:
    """Whether mlx-lm has a file for the type. Importing mlx-lm to find out would take seconds."""
    spec = find_spec("mlx_lm")
    assert spec is not None and spec.submodule_search_locations, "mlx-lm is a dependency"
    folder = Path(spec.submodule_search_locations[0]) / "models"
    return "/" not in kind and (folder / f"{kind}.py").is_file()


def _named_limit(values: Mapping[str, Any]) -> int | None:
    found = (values.get(key) for key in _LIMITS)
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def _default_limit(model_type: str) -> int | None:
    """transformers' default limit for the architecture."""
    from transformers import AutoConfig

    try:
        return _named_limit(AutoConfig.for_model(model_type).get_text_config().to_dict())
    except ValueError:
        return None
