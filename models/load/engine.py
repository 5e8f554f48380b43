"""Loading an installed pair into an engine. Downloads nothing, runs no code from repositories.

On a CPU device weights become float32: quantized products are slow there and cost the same for every row of
a verify pass, so drafting would gain nothing.
"""

from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, replace
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx.utils import tree_flatten
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import maybe_set_recommended_wired_limit

from mlx_spec import Engine
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.draft_head import restrict_head
from mlx_spec.drafters.grounded import GroundedDrafter
from mlx_spec.drafters.lookahead import LookaheadDrafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from mlx_spec.ranks import Ranks
from mlx_spec.shared import SharedEngine
from models.documents.store import open_stores
from models.errors import BadChoice, BrokenFiles, MachineTrouble, NotInstalled
from models.load.checkpoint import Checkpoint, on_cpu, opened
from models.load.configuration import check_architecture, context_limit
from models.load.drafters import foreign_drafter, load_drafters, model_drafter
from models.load.ranks import check_drafters, check_same, join, look_after
from models.load.translation import translation
from models.pairs.catalogue import fitting_draft
from models.pairs.drafter_kinds import DRAFT_MODELS
from models.pairs.folder import by_kind, check_target, folder_kind, read_config
from models.pairs.installed import find_folder, installed_folder
from models.pairs.pair import PairSpec, Source
from models.size_text import size_text
from models.speed.machine import physical_memory


@dataclass(frozen=True, slots=True)
class LoadedPair:
    """A pair ready to generate; to be used only on the thread that loaded it."""

    spec: PairSpec
    engine: Engine
    tokenizer: TokenizerWrapper
    context_limit: int
    """Tokens, prompt and answer together."""
    stop_tokens: frozenset[int]
    memory_bytes: int
    """Weights of the target and all drafters, as stored in memory."""
    notes: tuple[str, ...] = ()
    """Harmless differences, for example between unused tokens."""
    macs: int = 1
    """How many Macs share the target's layers."""


def load(spec: PairSpec, show: Callable[[str], object] = lambda text: None) -> LoadedPair:
    """Load the target, its tokenizer, the draft model and the other drafters.

    `show` is called with progress messages while new documents are indexed.

    Raises:
        ModelsError: a model is not installed, broken, too large or of an unknown kind, or the draft cannot be
            translated. One of the target's own drafters is left out instead, with a note.
        SpecError: the engine refuses the models.
    """
    paths = [_folder(source, spec) for source in spec.sources]
    check_target(paths[0], spec.target)
    ranks = join()
    if ranks:
        check_same(ranks, spec, paths)
    drafting = spec
    if folder_kind(paths[-1]) not in DRAFT_MODELS:
        drafting = replace(spec, draft=None, drafters=(*spec.drafters, Source(str(paths.pop()))))
        by_kind(drafting.drafters)  # refuses two of a kind
    with ExitStack() as stack:
        loaded = _load(drafting, [stack.enter_context(opened(path)) for path in paths], show, ranks)
    return replace(loaded, spec=spec)


def _folder(source: Source, spec: PairSpec) -> Path:
    """As `installed_folder`, but BadChoice if a pull would refuse the architecture."""
    try:
        return installed_folder(source, spec)
    except NotInstalled:
        with suppress(BrokenFiles):
            if (folder := find_folder(source)) and folder_kind(folder) in DRAFT_MODELS:
                check_architecture(read_config(folder), str(source))
        raise


def _load(
    spec: PairSpec, files: list[Checkpoint], show: Callable[[str], object], ranks: Ranks | None
) -> LoadedPair:
    notes, first = [each.note for each in files if each.note], files[0]
    between = None
    if spec.draft is not None:
        between, more = translation(first.folder, files[-1].folder, fitting_draft(spec.target))
        notes += more
    heads = [Checkpoint(Path(source.repo), Path(source.repo)) for source in spec.drafters]
    room = check_memory([*files, *heads], macs=ranks.size if ranks else 1)
    maybe_set_recommended_wired_limit()
    target, config = first.load(ranks=ranks)
    tokenizer = first.tokenizer(config)
    # Lookup first: it costs nothing. A draft model replaces recycling and lookahead, which predict worse.
    drafters: list[Drafter] = [LookupDrafter()]
    if spec.draft is None:
        drafters += [RecyclingDrafter(), LookaheadDrafter()]
    stores, more = open_stores(
        spec.documents, first.folder, lambda text: tokenizer.encode(text, add_special_tokens=False), show
    )
    notes += more
    if stores:
        drafters.append(GroundedDrafter(stores))
    if spec.draft is not None:
        draft, draft_config = files[-1].load()
        if between is not None:
            if spec.draft_head is not None:
                raise BadChoice("--draft-head is for a draft of the target's own tokenizer. Leave it out.")
            drafters.append(foreign_drafter(draft, draft_config, between))
        else:
            if spec.draft_head is not None:
                restrict_head(draft, frequent_tokens(tokenizer, spec.draft_head))
            drafters.append(model_drafter(draft, draft_config))
    others, left_out = load_drafters(spec, target, config, room)
    drafters += others
    notes += left_out
    limit = context_limit(config)
    if ranks:
        check_drafters(ranks, drafters)
        engine = SharedEngine(target, drafters, ranks, context_limit=limit)
        look_after(engine)
    else:
        engine = Engine(target, drafters, context_limit=limit)
    return LoadedPair(
        spec=spec,
        engine=engine,
        tokenizer=tokenizer,
        context_limit=limit,
        stop_tokens=frozenset(i for i in tokenizer.eos_token_ids if i >= 0),  # -1 in some configs: none
        memory_bytes=weight_bytes([target, *(each for drafter in drafters for each in drafter.parts)]),
        notes=tuple(notes),
        macs=ranks.size if ranks else 1,
    )


def frequent_tokens(tokenizer: TokenizerWrapper, count: int) -> list[int]:
    """Ids, ascending: the first `count` of the vocabulary, and the tokenizer's added tokens.

    Subword tokenizers number tokens in merge order, the most frequent of their training text first (Sennrich
    et al. 2016, algorithm 1), so no statistics are needed. Added tokens, such as the end of an answer, come
    last and are kept.
    """
    first = {token for token in tokenizer.get_vocab().values() if token < count}
    return sorted(first | set(tokenizer.get_added_vocab().values()))


def check_memory(files: Sequence[Checkpoint], macs: int = 1) -> int:
    """Bytes left after the weights. MachineTrouble if they need more, before they are read: on running out of
    memory the system kills the program without a message.

    Args:
        files: the target first, which the Macs share.
    """
    target, *others = (each.weight_bytes() for each in files)
    needed, usable = target // macs + sum(others), capacity()
    if needed > usable:
        why = " as float32, which they become without Metal" if on_cpu() else ""
        raise MachineTrouble(
            f"The weights need {size_text(needed)} of memory{why}, and {size_text(usable)} can be used. "
            "Choose a smaller pair: `mlx-spec pairs` says what fits."
        )
    return usable - needed


def capacity() -> int:
    """Bytes available for weights: all memory on a CPU, else Metal's recommended working set."""
    recommended = mx.device_info().get("max_recommended_working_set_size")
    return int(recommended) if recommended and not on_cpu() else physical_memory()


def weight_bytes(models: Iterable[nn.Module]) -> int:
    """Bytes of the models' weights; an array shared by several counts once."""
    arrays = [array for model in models for _, array in tree_flatten(model.parameters())]
    return sum({id(array): array.nbytes for array in arrays if isinstance(array, mx.array)}.values())
