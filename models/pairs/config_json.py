"""Whether a config.json is one that can be loaded, judged by it alone."""

import json
from collections.abc import Iterable
from itertools import product
from typing import Any

from models.errors import BadChoice
from models.pairs.drafter_kinds import DRAFT_MODELS, check_kind, config_kind

READ_QUANTIZED = ("awq", "bitnet", "fp8", "modelopt", "mxfp4", "mxfp8", "pack-quantized",
                  "mxfp4-pack-quantized", "nvfp4-pack-quantized")  # fmt: skip
"""The methods and formats of quantization that mlx-lm reads, beside its own. It names GPTQ too, but refuses
the `g_idx` of its files, and takes their rows for columns."""
UNPACKED = ("fp8", "modelopt", "pack-quantized", "mxfp4-pack-quantized", "nvfp4-pack-quantized")
"""Those that a model's own code in mlx-lm has to unpack."""
PLAIN = ("gemma", "llama", "phi", "qwen")
"""What the types begin with whose code does not."""


def check_settings(config: dict[str, Any], where: str, files: Iterable[str]) -> None:
    """Raise BadChoice for a config.json of a model or drafter that cannot be loaded; as `check_kind`."""
    check_kind(config, where, files)
    (check_config if config_kind(config) in DRAFT_MODELS else _check_values)(config, where)


def check_config(config: dict[str, Any], where: str) -> None:
    """Raise BadChoice if the model needs its repository's code, or config.json is invalid."""
    if "model_file" in config:
        raise BadChoice(
            f"{where} needs its own Python code ({config['model_file']}) to run; "
            "code from model repositories is never executed here."
        )
    if not isinstance(config.get("model_type"), str):
        raise BadChoice(f"config.json of {where} names no model_type; mlx-lm cannot load it.")
    _check_values(config, where)
    named = config if "quantization_config" in config else config.get("text_config") or {}  # as mlx-lm
    found = named.get("quantization_config") or {}
    packed = found.get("quant_method") == "compressed-tensors"
    method = found.get("format" if packed else "quant_method", "a method without a name")
    plain = method in UNPACKED and "scale_fmt" not in found and config["model_type"].startswith(PLAIN)
    if method == "awq" and (bits := found.get("bits", 4)) != 4:  # noqa: PLR2004
        method = f"awq in {bits} bits"
    if method == "modelopt" and (kind := found.get("quant_algo", "NVFP4")) != "NVFP4":
        method = f"modelopt in {kind}"
    if found and not config.get("quantization") and (plain or method not in READ_QUANTIZED):
        raise BadChoice(
            f"{where} is quantized by {method}, which mlx-lm does not read. Use a version for MLX, or the "
            "unquantized original."
        )


def _check_values(config: dict[str, Any], where: str) -> None:
    keys = ("quantization", "quantization_config", "text_config", "rope_scaling")
    for values, key in product((config, config.get("text_config") or {}), keys):
        if not isinstance(value := values.get(key), dict | None):
            raise BadChoice(f"config.json of {where} has a {key} that is not an object: {json.dumps(value)}.")
    bits = (config.get("quantization") or {}).get("bits", 1)
    if type(bits) is not int or bits < 1:
        raise BadChoice(f"config.json of {where} names weights of {json.dumps(bits)} bits.")
