"""The kind of a drafter, from its config.json alone."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from models.errors import BadChoice, BadSource

Config = Mapping[str, Any]
MODEL = "model"
"""An ordinary model in mlx-lm's format."""
PARD = "pard"
"""A draft model that drafts in parallel, with mask tokens."""
DSPARK = "dspark"
LAYER_SKIP = "layer_skip"
"""Without weights: they are the target's."""
DRAFT_MODELS = (MODEL, PARD)
"""Kinds that are whole models, with a tokenizer."""
TOKENIZER_FILES = frozenset({"tokenizer.json", "tokenizer.model", "vocab.json"})
_EAGLES = frozenset({"LlamaForCausalLMEagle3", "Qwen3Eagle3Model"})
_PARALLEL = ("PEagleDraftModel", "pard_token", "ptd_token_id")
_SIGNS: dict[str, Callable[[Config], bool]] = {
    "medusa": lambda c: "medusa_num_heads" in c or c.get("model_type") == "medusa",
    DSPARK: lambda c: (
        any("DSpark" in name for name in _architectures(c)) or _dflash(c).get("projector_type") == "dspark"
    ),
    "dflash2": lambda c: "DFlash2DraftModel" in _architectures(c),
    "dflash": lambda c: "DFlashDraftModel" in _architectures(c) or bool(_dflash(c)),
    "peagle": lambda c: _is_eagle(c) and not {*_architectures(c), *c}.isdisjoint(_PARALLEL),
    "eagle": lambda c: _is_eagle(c),
    "mtp": lambda c: str(c.get("model_type")).endswith("_mtp"),
    "assistant": lambda c: c.get("model_type") in ("gemma4_assistant", "gemma4_unified_assistant"),
    PARD: lambda c: "pard_token" in c,
    LAYER_SKIP: lambda c: c.get("model_type") == LAYER_SKIP and isinstance(c.get("layers"), list),
}
"""By kind, whether a config is of it; the first match decides. Ordinary models match none."""
KINDS = (MODEL, *_SIGNS)
"""All that are loaded from files."""
_OF_SPECULATORS = {"eagle3": "eagle", "eagle": "EAGLE-1"}
"""Our kinds by speculators' names, where they differ."""
_OTHERS = ("Gemma4Eagle3Model",)
"""Architectures or types of published drafters that cannot be loaded."""


def config_kind(config: Config) -> str:
    """The kind of drafter that a config.json describes, else `model`."""
    if isinstance(family := config.get("speculators_model_type"), str):
        return _OF_SPECULATORS.get(family, family)
    named = [config.get("model_type"), *_architectures(config)]
    others = (name for name in named if name in _OTHERS)
    return next(others, None) or next((kind for kind, holds in _SIGNS.items() if holds(config)), MODEL)


def check_kind(config: Config, where: str, files: Iterable[str]) -> None:
    """Raise BadChoice for a drafter that cannot be loaded, and BadSource for files of neither a known drafter
    nor a model with a tokenizer."""
    loads, kind = f"mlx-spec loads draft models and {', '.join(_SIGNS)}.", config_kind(config)
    if kind not in KINDS:
        raise BadChoice(f"{where} holds a drafter of the family {kind}, which cannot be loaded. {loads}")
    if kind in DRAFT_MODELS and TOKENIZER_FILES.isdisjoint(files):
        named = ", ".join(str(name) for name in (config.get("model_type"), *_architectures(config)) if name)
        raise BadSource(
            f"{where} holds no tokenizer.json, tokenizer.model or vocab.json, and its config.json "
            f"({named or 'of no type'}) tells no kind of drafter that needs none. {loads} Choose another."
        )


def check_made_for(config: Config, target: Config, where: str) -> None:
    """Raise BadChoice for a head whose config.json names other sizes than the target's."""
    sizes = _sizes_of_target(config), _sizes_of_target(target)
    for name, wanted, found in zip(("tokens", "numbers per hidden state"), *sizes, strict=True):
        if isinstance(wanted, int) and isinstance(found, int) and wanted != found:
            raise BadChoice(
                f"{where} was made for another target, with {wanted} {name}: this one has {found}. "
                "Use the drafter made for this target."
            )


def text_settings(config: Config) -> Config:
    """The config with the settings of the part that reads text, which some models nest."""
    inner = config.get("text_config")
    return {**config, **inner} if isinstance(inner, Mapping) else config


def _sizes_of_target(config: Config) -> tuple[object, object]:
    """Tokens and width of hidden states of the target, by its own config.json or a head's."""
    inner = config.get("transformer_layer_config") or config.get("text_config")
    sizes = {**config, **inner} if isinstance(inner, Mapping) else config
    width = config.get("backbone_hidden_size") or config.get("target_hidden_size") or sizes.get("hidden_size")
    return sizes.get("vocab_size"), width


def _is_eagle(config: Config) -> bool:
    return not _EAGLES.isdisjoint(_architectures(config)) or "draft_vocab_size" in config


def _architectures(config: Config) -> list[str]:
    found = config.get("architectures")
    return [name for name in found if isinstance(name, str)] if isinstance(found, list) else []


def _dflash(config: Config) -> Config:
    found = config.get("dflash_config")
    return found if isinstance(found, Mapping) else {}
