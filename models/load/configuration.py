"""Read from a model's config.json: whether mlx-lm knows the architecture, its context limit."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.errors import BadChoice
from models.pairs.folder import check_config

_LIMITS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length", "seq_length")
_UNKNOWN_LIMIT = 4096


def check_architecture(config: dict[str, Any], where: str) -> None:
    """Raise BadChoice for an architecture unknown to mlx-lm, before its weights are fetched."""
    check_config(config, where)
    kind = config["model_type"]
    if not _is_module(kind):
        from mlx_lm.utils import MODEL_REMAPPING

        if not _is_module(str(MODEL_REMAPPING.get(kind, kind))):
            raise BadChoice(f"{where} is of type '{kind}', which mlx-lm does not know. Choose another model.")


def context_limit(config: dict[str, Any]) -> int:
    """Tokens, prompt and answer together.

    YaRN scaling multiplies the limit; other RoPE scalings are already included in the named limit. Without a
    named limit the architecture's default holds, or 4096 if that is unknown too.
    """
    text = config | (config.get("text_config") or {})
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
    return kind.isidentifier() and (folder / f"{kind}.py").is_file()


def _named_limit(values: dict[str, Any]) -> int | None:
    found = (values.get(key) for key in _LIMITS)
    return next((value for value in found if isinstance(value, int) and value > 0), None)


def _default_limit(model_type: str) -> int | None:
    """transformers' default limit for the architecture."""
    from transformers import AutoConfig

    try:
        return _named_limit(AutoConfig.for_model(model_type).get_text_config().to_dict())
    except ValueError:
        return None
