"""From the user's arguments (a pair, a target, a draft) to a PairSpec."""

import os
from collections.abc import Sequence
from dataclasses import replace

from models.errors import BadSource
from models.pairs.catalogue import all_pairs, find
from models.pairs.drafter_kinds import DRAFT_MODELS
from models.pairs.folder import by_kind
from models.pairs.installed import default_pair
from models.pairs.pair import PairSpec, Source, local_source, read_source


def resolve(
    name: str | None = None,
    target: str | None = None,
    draft: str | None = None,
    draft_head: int | None = None,
    drafters: Sequence[str] = (),
) -> PairSpec:
    """A pair of the catalogue by its name, or a target, alone or with a draft; without both the default pair.

    Args:
        draft: Hub repository, folder, or `none`; with `name` it replaces the pair's own draft.
        draft_head: how many of the most frequent tokens the draft chooses among; None: all.
        drafters: folders of drafters, one of a kind; a folder with a whole model is the draft.

    Raises:
        UnknownPair: no pair of that name.
        BadSource: the arguments conflict, or one is neither a folder nor a repository name.
        ModelsError: a drafter's folder is incomplete or broken.
    """
    if draft_head is not None and draft_head < 1:
        raise BadSource(f"The draft head is {draft_head} tokens; give at least 1, or leave it out for all.")
    heads = by_kind(map(local_source, drafters))
    for model in [heads.pop(kind) for kind in DRAFT_MODELS if kind in heads]:
        if draft is not None:
            raise BadSource(f"--draft {draft} and --drafter {model} both name the draft. Leave one out.")
        draft = str(model)
    if target is None:
        spec = (default_pair() if name is None else find(name)).spec
        spec = spec if draft is None else replace(spec, draft=_draft(draft))
    elif name is not None:
        raise BadSource(f"Name a pair ({name}) or give --target ({target}), not both.")
    elif target in [pair.name for pair in all_pairs()] and not os.path.exists(target):
        raise BadSource(f"{target} is the name of a pair. Give it without --target.")
    else:
        spec = _from_sources(target, draft or "none")
    return replace(spec, draft_head=draft_head, drafters=tuple(heads.values()))


def _from_sources(target: str, draft: str) -> PairSpec:
    source = read_source(target)
    return PairSpec(source.short_name, source, _draft(draft))


def _draft(text: str) -> Source | None:
    return None if text.lower() == "none" else read_source(text)


def target_spec(text: str) -> PairSpec:
    """A target without a draft: the target of a pair by name, or a repository, folder or GGUF file."""
    if "/" in text or os.path.exists(text):
        return _from_sources(text, "none")
    return replace(find(text).spec, draft=None)
