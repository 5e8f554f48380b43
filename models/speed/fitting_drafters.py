"""Which drafters a target has, of what size, and what they should bring on a Mac.

Draft models of the catalogue, heads that ship or were trained here. Reads small files;
imports no MLX.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.errors import ModelsError
from models.pairs.catalogue import BUILTIN_PAIR, Pair, all_pairs, fitting_draft
from models.pairs.folder import MODEL, check_folder, read_json
from models.pairs.installed import find_folder, is_installed
from models.pairs.own_drafters import own_drafters
from models.pairs.pair import Source
from models.paths import shipped_drafters_folder
from models.speed.chips import Chip
from models.speed.heads import Head, best
from models.speed.roofline import Model, expect, find_shape, format_bits, pass_seconds

EAGLE = "eagle"


@dataclass(frozen=True, slots=True)
class FittingDrafter:
    kind: str
    """As in `models.pairs.drafter_folder`."""
    source: str
    """A repository, or what becomes of it: `ships with the program`, `trained here`."""
    here: bool
    bytes: int | None = None
    """Of its weights; None where we do not know."""
    gain: float | None = None
    """Predicted speed relative to plain decoding; None where nothing is predicted. 1: no gain."""
    accepted: float | None = None
    """How often its first token was accepted on texts that its training left out."""


def fitting_drafters(pair: Pair, chip: Chip | None) -> list[FittingDrafter]:
    """Of the pair's target: its own draft model first, then others of the catalogue, then heads."""
    return [*_models(pair, chip), *_own(pair, chip)]


def _models(pair: Pair, chip: Chip | None) -> Iterator[FittingDrafter]:
    suggested = None if pair.name == BUILTIN_PAIR else fitting_draft(pair.target)
    others = [other.draft for other in all_pairs() if other.target == pair.target]
    sources = [pair.draft, *others, Source(suggested) if suggested else None]
    for draft in dict.fromkeys(source for source in sources if source is not None):
        expected = expect(replace(pair, draft=draft), chip) if chip else None
        gain = expected.drafted / expected.plain if expected else None
        name = Path(draft.repo).name if draft.is_local else str(draft)
        yield FittingDrafter(MODEL, name, is_installed(draft), _model_bytes(draft, pair), gain)


def _own(pair: Pair, chip: Chip | None) -> Iterator[FittingDrafter]:
    for kind, folder in own_drafters(pair.target)[0].items():
        origin = "ships with the program" if shipped_drafters_folder() in folder.parents else "trained here"
        config = read_json(folder / "config.json") or {}
        facts = config.get("mlx_spec")
        rates = facts.get("acceptance") if isinstance(facts, dict) else None
        accepted = tuple(rates) if isinstance(rates, list) and all(type(r) is float for r in rates) else ()
        head = _head(config, accepted) if kind == EAGLE and accepted else None
        gain = _head_gain(pair, head, chip) if chip and head else None
        first = accepted[0] if accepted else None
        yield FittingDrafter(kind, origin, True, check_folder(folder), gain, first)


def _model_bytes(draft: Source, pair: Pair) -> int | None:
    """On the disk where it is here, else by its shape in the pair's format."""
    folder = find_folder(draft)
    if folder is not None:
        try:
            return check_folder(folder)
        except ModelsError:
            return None
    shape = find_shape(draft.repo)
    try:
        return int(shape.parameters * 1e9 * format_bits(pair.quantization) / 8) if shape else None
    except KeyError:
        return None


def _head(config: Mapping[str, Any], accepted: tuple[float, ...]) -> Head | None:
    """The head that a config.json describes; None where it tells too little."""
    quantization = config.get("quantization")
    bits = f"{quantization['bits']}-bit" if isinstance(quantization, dict) else "fp16"
    try:
        return Head(
            name=EAGLE,
            hidden=config["hidden_size"],
            intermediate=config["intermediate_size"],
            heads=config["num_attention_heads"],
            kv_heads=config["num_key_value_heads"],
            head_dim=config["head_dim"],
            vocab=config["draft_vocab_size"],
            bits=format_bits(bits),
            accepted=accepted,
            source="its config.json",
        )
    except KeyError:
        return None


def _head_gain(pair: Pair, head: Head, chip: Chip) -> float | None:
    shape = find_shape(f"builtin/{Path(pair.target.repo).name}" if pair.target.is_local else pair.target.repo)
    shape = shape or find_shape(pair.name)
    if shape is None:
        return None
    target = Model(shape, format_bits(pair.quantization))
    return best(target, head, chip)[0] * pass_seconds(target, chip)
