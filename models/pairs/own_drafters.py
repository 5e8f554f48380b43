"""A target's own drafters, loaded without being named: shipped with the program, or trained here."""

import os
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path
from shlex import quote
from typing import Any
from zlib import crc32

from models.errors import BadChoice, BrokenFiles, ModelsError
from models.pairs.catalogue import all_pairs
from models.pairs.folder import check_drafter, read_config
from models.pairs.pair import Source, local_source
from models.paths import own_drafters_folder, shipped_drafters_folder

CHARACTERS = "characters"
"""`mlx_spec.reads` in the config.json of a draft model that reads characters, not the target's tokens."""


def whole_name(target: Source) -> str:
    """What a drafter's config.json calls its target: the pair's name in the catalogue, else its source."""
    return next((pair.name for pair in all_pairs() if pair.target == target and not pair.own), str(target))


def target_name(target: Source) -> str:
    """The name under which a target's drafters are kept: as `whole_name`, of a source the last part."""
    name = whole_name(target)
    return target.short_name if name == str(target) else name


def own_drafters(target: Source, named: Collection[Source] = ()) -> tuple[dict[str, Path], list[str]]:
    """Folders by kind of drafter, the user's replacing shipped ones; and why others are left out. Models that
    read characters are not included: they draft only when named. Nor are drafters of another target of this
    name, whose folder is there too.

    `mlx_spec.target` in a folder's config.json names the target it was made for: its `target_name`,
    repository or folder. Without it, the folder's place decides.

    Args:
        named: folders that are used anyway, and so neither found nor left out.
    """
    found, trouble = dict[str, Path](), list[str]()
    for folder in _folders(target_name(target)):
        try:
            if local_source(str(folder)) in named:
                continue
            kind = check_drafter(folder)
            if facts_of(folder).get("reads") == CHARACTERS:
                continue
            if other := other_target(folder, target):
                if os.path.exists(other):
                    continue
                raise BadChoice(
                    f"it was made for {other}. If this is the same model, use it with: "
                    f"--drafter {quote(str(folder))}"
                )
            found[kind] = folder
        except (ModelsError, OSError) as error:
            trouble.append(f"The drafter in {folder} is left out: {error}")
    return found, trouble


def other_target(folder: Path, target: Source) -> str | None:
    """The target that the drafter in a folder was made for, if that is another one."""
    made_for = facts_of(folder).get("target")
    return None if made_for in (None, target_name(target), target.repo, str(target)) else str(made_for)


def own_place(target: Source, kind: str) -> Path:
    """Where a new drafter of this kind goes: to that of another target of this name it gives way."""
    folder = own_drafters_folder() / target_name(target) / kind
    with suppress(BrokenFiles):  # it is replaced
        if other_target(folder, target):
            return folder.with_name(f"{kind}-{crc32(str(target).encode()):08x}")
    return folder


def _folders(name: str) -> Iterator[Path]:
    """Later folders replace earlier ones of the same kind."""
    shipped, own = shipped_drafters_folder() / name, own_drafters_folder() / name
    if shipped.is_dir():
        yield shipped
    if own.is_dir():
        yield from sorted(folder for folder in own.iterdir() if not folder.name.startswith("."))


def facts_of(folder: Path) -> dict[str, Any]:
    """What was noted in a drafter's config.json when it was made here."""
    facts = read_config(folder).get("mlx_spec")
    return facts if isinstance(facts, dict) else {}
