"""The user's own pairs of two repositories or folders: kept in a small file in the catalogue's format, and
found by name like the catalogue's."""

import json
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from itertools import chain, count
from pathlib import Path
from typing import Any

from models.errors import BadSource, MachineTrouble
from models.files import atomic_write, locked
from models.pairs.catalogue import Pair, all_pairs, fitting_draft, is_pair, own_tables
from models.pairs.drafter_kinds import text_settings
from models.pairs.folder import read_config
from models.pairs.installed import find_folder, installed_bytes
from models.pairs.original_mtp import is_same_model
from models.pairs.pair import PairSpec, Source
from models.paths import own_pairs_file
from models.size_text import size_text

_CONTEXT = 4096
_ACTIVATION_BYTES = 300_000_000
_LARGEST_COUNT = 1_000_000
"""Largest plausible number of layers or heads, or head width; larger values are ignored."""


def known_pair(target: Source, draft: Source | None) -> Pair | None:
    """The pair of these models, if there is one."""
    return next((pair for pair in all_pairs() if (pair.target, pair.draft) == (target, draft)), None)


def name_own(spec: PairSpec) -> PairSpec:
    """The pair with a unique name: its target's, with a number if that is taken."""
    taken = {pair.name for pair in all_pairs()}
    base = Path(spec.target.repo).name.lower()
    names = chain([base], (f"{base}-{number}" for number in count(2)))
    return PairSpec(next(name for name in names if name not in taken), spec.target, spec.draft)


def describe_own(spec: PairSpec, downloads: Sequence[int]) -> Pair:
    """The catalogue entry for a pair after `models.hub.download.check`.

    Args:
        downloads: bytes per model, from the last progress of `check`.

    Raises:
        BadSource: the draft's weights are not smaller than the target's, and it is not the target's original.
    """
    download = caches = 0
    weights: list[int] = []
    configs: list[dict[str, Any]] = []
    for source, to_come in zip(spec.sources, downloads, strict=True):
        folder = find_folder(source)
        assert folder is not None, "a checked model has a folder"
        here = installed_bytes(source) or 0
        download += 0 if source.is_local else to_come or here
        weights.append(here or to_come)
        configs.append(read_config(folder))
        caches += cache_bytes(configs[-1])
    # Of the target's original only a few layers draft, whatever the size of the files that hold them.
    original = spec.draft != spec.target and is_same_model(configs[-1], configs[0])
    if spec.draft is not None and not original and weights[0] <= weights[-1]:
        target, draft = size_text(weights[0]), size_text(weights[-1])
        raise BadSource(
            f"The draft {spec.draft} ({draft}) is not smaller than the target {spec.target} ({target}): "
            "nothing would be gained. Swap them, or name a smaller draft."
        )
    # The target's family is that of the draft that the catalogue suggests for it.
    fitting = fitting_draft(spec.target)
    families = (pair.family for pair in all_pairs() if fitting and pair.draft and pair.draft.repo == fitting)
    return Pair(
        name=spec.name,
        target=spec.target,
        draft=spec.draft,
        quantization=_format(configs[0], Path(spec.target.repo).stem),
        download_bytes=download,
        memory_bytes=sum(weights) + caches + _ACTIVATION_BYTES,
        family=next(families, ""),
        licence="see its repository",
        good_for="a pair of your own",
        verified=True,
        own=True,
    )


def _format(config: dict[str, Any], name: str) -> str:
    """`4-bit`, `bf16`: from MLX's own entry, or that of another method, which has the bits in its name; of a
    GGUF file from its name, else `GGUF`."""
    if not config:
        kind = re.search(r"(?:^|[-._])(?:i?q|b?f)(\d+)(?=[-._]|$)", name, re.IGNORECASE)
        return "GGUF" if kind is None else "bf16" if kind[1] == "16" else f"{kind[1]}-bit"
    found = config.get("quantization") or config.get("quantization_config") or {}
    bits = re.search(r"\d+", f"{found.get('bits')} {found.get('quant_method')} {found.get('format')}")
    return f"{bits[0]}-bit" if bits else "bf16"


def add_own(pair: Pair) -> Pair:
    """Add a pair to the user's own, and return what the list has then: another program may have added it
    meanwhile, or taken its name. Errors leave the list unchanged, as those of `forget_own` do.

    Raises:
        MachineTrouble: the list is damaged; OSError: it cannot be read or written.
    """
    with _tables() as tables:
        if known := known_pair(pair.target, pair.draft):
            return known
        if pair.name in {each.name for each in all_pairs()}:
            pair = replace(pair, name=name_own(pair.spec).name)
        tables.append(asdict(pair) | {"target": str(pair.target), "draft": str(pair.draft or "none")})
    return pair


def forget_own(name: str) -> None:
    """Remove a pair from the user's own; its models stay."""
    with _tables() as tables:
        tables[:] = [table for table in tables if not (is_pair(table) and table["name"] == name)]


@contextmanager
def _tables() -> Iterator[list[Any]]:
    """The user's list, to be changed. What is no pair in it stays: a newer version may have written it."""
    file = own_pairs_file()
    with locked(file.parent):
        try:
            tables = own_tables()
        except ValueError as error:
            why = f"{file} cannot be read ({error}), and would be overwritten."
            raise MachineTrouble(f"{why} Correct it, or move it away, and try again.") from error
        yield tables
        atomic_write(file, json.dumps({"pair": tables}, indent=1))


def cache_bytes(config: dict[str, Any]) -> int:
    """Bytes of 16-bit keys and values at 4096 tokens; 0 if the config lacks the usual names."""
    text = text_settings(config)

    def number(name: str) -> int:
        found = text.get(name)
        return found if type(found) is int and 0 < found <= _LARGEST_COUNT else 0

    heads = number("num_attention_heads")
    width = number("head_dim") or (number("hidden_size") // heads if heads else 0)
    kv_heads = number("num_key_value_heads") or heads
    return 2 * 2 * _CONTEXT * number("num_hidden_layers") * kv_heads * width
