"""A target's drafters with their sizes and predicted speeds on a Mac.

Draft models of the catalogue, published drafters, and heads shipped or trained here. Reads small files;
imports no MLX.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from models.pairs.catalogue import BUILTIN_PAIR, Pair, all_pairs, fitting_draft, named_in
from models.pairs.drafter_kinds import MODEL, PARD
from models.pairs.folder import check_folder, read_config
from models.pairs.installed import draft_kind, installed_bytes, is_installed
from models.pairs.original_mtp import taken_from
from models.pairs.own_drafters import facts_of, own_drafters
from models.pairs.pair import Source
from models.pairs.published import Layout, Published, Round, published_for
from models.paths import shipped_drafters_folder
from models.speed.chips import Chip
from models.speed.published_rounds import EAGLE, Gain, predicted, weight_bytes
from models.speed.roofline import Model, expect, format_bits, model_of, pass_seconds

NO_CHIP = "not predicted: no chip is named, and this machine is no Mac that we know"
_NO_SHAPES = "not predicted: we do not know the models' layers or format"
_UNPUBLISHED = "not predicted: we know no published acceptance rate of it"
_NO_RATES = "not predicted: its training measured no acceptance rate, or it is of another kind than EAGLE-3"
_ORIGINAL = "; only this layer is kept of the files that are downloaded, whose size is not known"


@dataclass(frozen=True, slots=True)
class FittingDrafter:
    kind: str
    """As in `models.pairs.drafter_kinds`."""
    source: str
    """A repository, or its origin: `ships with the program`, `trained here`."""
    here: bool
    """Whether it is installed."""
    bytes: int | None = None
    """Of its weights; None if unknown."""
    gain: float | None = None
    """Predicted speed relative to plain decoding, 1 for no gain; None without a prediction."""
    accepted: float | None = None
    """Acceptance rate of its first drafted token on texts held out of its training."""
    speed: float | None = None
    """Predicted, tokens per second."""
    range: tuple[float, float] | None = None
    """Of the speed: four of five published speeds lie this close to their predictions."""
    why: str = ""
    """The basis of the prediction, or why there is none."""
    named_in: str = ""
    """The source that names a repository we have not fetched; empty: nothing to fetch."""
    licence: str = ""
    """Of its weights; empty if no source names one."""


_SIZES = {"hidden": "hidden_size", "intermediate": "intermediate_size", "heads": "num_attention_heads",
          "kv_heads": "num_key_value_heads", "head_dim": "head_dim", "vocab": "draft_vocab_size"}  # fmt: skip
"""The names in config.json of a layout's sizes."""
NOTICEABLE = 0.02
"""A gain below this share counts as no gain."""
_BY_KIND = ("dspark", "dflash2", "dflash", "mtp", "assistant", EAGLE, "peagle", PARD, MODEL)
"""The order of drafters without a prediction (docs/drafters.md)."""


def fitting_drafters(pair: Pair, chip: Chip | None) -> list[FittingDrafter]:
    """The drafters of the pair's target, best first: those with a predicted gain, then those without a
    prediction by kind, then those predicted not to gain."""
    found = [*_models(pair, chip), *_own(pair, chip), *_published(pair, chip)]
    return sorted({(each.kind, each.source): each for each in found}.values(), key=_place)


def _place(drafter: FittingDrafter) -> tuple[int, float]:
    if drafter.gain is None:
        kind = _BY_KIND.index(drafter.kind) if drafter.kind in _BY_KIND else len(_BY_KIND)
        return 1, kind - drafter.here / 2
    return (0 if drafter.gain > 1 + NOTICEABLE else 2), -drafter.gain


def _models(pair: Pair, chip: Chip | None) -> Iterator[FittingDrafter]:
    suggested = None if pair.name == BUILTIN_PAIR else fitting_draft(pair.target)
    others = [other.draft for other in all_pairs() if other.target == pair.target]
    sources = [pair.draft, *others, Source(suggested) if suggested else None]
    for draft in dict.fromkeys(source for source in sources if source is not None):
        drafted = replace(pair, draft=draft)
        expected = expect(drafted, chip) if chip else None
        name, kind = Path(draft.repo).name if draft.is_local else str(draft), draft_kind(drafted.spec)
        why = NO_CHIP if chip is None else _UNPUBLISHED if expected else _NO_SHAPES
        found = FittingDrafter(kind, name, is_installed(draft), _model_bytes(draft, pair), why=why)
        if expected and expected.length is not None:
            of = "its family's" if expected.acceptance.published else "other families'"
            gain = Gain(expected.drafted, expected.drafted_range, expected.length)
            found = _with_gain(found, gain, expected.plain, f" at the middle of {of} published acceptances")
        licence = next((other.licence for other in all_pairs() if other.draft == draft), "")
        source = "" if draft.is_local else named_in(draft) or "your own pair"
        yield replace(found, named_in=source, licence="" if draft.is_local else licence)


def _published(pair: Pair, chip: Chip | None) -> Iterator[FittingDrafter]:
    target = model_of(pair.target, pair.quantization)
    for drafter in published_for(pair.target):
        here = _bytes_here(drafter, pair.target)
        found = FittingDrafter(
            drafter.kind,
            drafter.repo,
            here is not None,
            here or weight_bytes(drafter),
            why=_why_none(drafter, target) if chip else NO_CHIP,
            named_in=drafter.source,
            licence=drafter.licence,
        )
        if chip and target and (gain := predicted(drafter, target, chip)):
            found = _with_gain(found, gain, 1 / pass_seconds(target, chip), f": {_acceptances(drafter)}")
        yield replace(found, why=found.why + _ORIGINAL) if drafter.original and here is None else found


def _bytes_here(drafter: Published, target: Source) -> int | None:
    """Bytes of an installed drafter, of an original those of the layer taken from it; None if not here."""
    if not drafter.original:
        return installed_bytes(Source(drafter.repo))
    taken = taken_from(target, Source(drafter.repo))
    return check_folder(taken) if taken else None


def _own(pair: Pair, chip: Chip | None) -> Iterator[FittingDrafter]:
    target = model_of(pair.target, pair.quantization)
    for kind, folder in own_drafters(pair.target)[0].items():
        shipped, facts = shipped_drafters_folder() in folder.parents, facts_of(folder)
        origin = "ships with the program" if shipped else str(facts.get("from", "trained here"))
        rates = facts.get("acceptance")
        accepted = rates if isinstance(rates, list) and all(type(r) is float for r in rates) else []
        first, why = accepted[0] if accepted else None, _NO_RATES if chip else NO_CHIP
        found = FittingDrafter(kind, origin, True, check_folder(folder), accepted=first, why=why)
        if chip and target and kind == EAGLE and accepted and (head := _head(read_config(folder), accepted)):
            gain = predicted(head, target, chip, "drafted_error")
            if gain:
                why = ": accepted on texts that its training left out, at temperature 0"
                found = _with_gain(found, gain, 1 / pass_seconds(target, chip), why)
        yield found


def _with_gain(found: FittingDrafter, gain: Gain, plain: float, why: str) -> FittingDrafter:
    length = f"{gain.length} drafted per round" if gain.length else "no gain"
    return replace(found, gain=gain.speed / plain, speed=gain.speed, range=gain.range, why=f"{length}{why}")


def _acceptances(drafter: Published) -> str:
    """`accepted on MT-Bench, at temperature 0 (vLLM, test_acceptance_length.py)`."""
    texts = ", ".join(dict.fromkeys(each.text for each in drafter.rounds))
    known = dict.fromkeys(each.temperature for each in drafter.rounds if each.temperature is not None)
    heat = " and ".join(f"{each:g}" for each in known)
    sources = ", ".join(dict.fromkeys(each.source for each in drafter.rounds))
    return f"accepted on {texts}{heat and f', at temperature {heat}'} ({sources})"


def _why_none(drafter: Published, target: Model | None) -> str:
    if not drafter.rounds and weight_bytes(drafter) is None:
        return "not predicted: we know no published size or acceptance rate of it"
    if not drafter.rounds:
        return _UNPUBLISHED
    if target is None:
        return _NO_SHAPES
    return "not predicted: we do not know its layers"


def _model_bytes(draft: Source, pair: Pair) -> int | None:
    """Bytes on disk if installed, else computed from its shape in the pair's format; None if unknown."""
    model = model_of(draft, pair.quantization)
    return installed_bytes(draft) or (int(model.shape.parameters * 1e9 * model.bits / 8) if model else None)


def _head(config: Mapping[str, Any], accepted: Sequence[float]) -> Published | None:
    """The EAGLE-3 head that a config.json describes; None if it lacks sizes."""
    quantization = config.get("quantization")
    bits = f"{quantization['bits']}-bit" if isinstance(quantization, dict) else "fp16"
    try:
        layout = Layout(**{size: config[name] for size, name in _SIZES.items()})
        known = Round("texts left out", "its training", 0.0, accepted)
        return Published("", EAGLE, (), "config.json", layout, bits=format_bits(bits), rounds=(known,))
    except KeyError:
        return None
