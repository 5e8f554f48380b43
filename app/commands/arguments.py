"""Arguments that several commands share, and what becomes of them."""

import secrets
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.errors import BadInput
from mlx_spec.types import DEFAULT_DRAFT_LENGTH, MAX_DRAFT_LENGTH, DrafterName, Options, Rule

if TYPE_CHECKING:
    from models.load import LoadedPair
    from models.pair import PairSpec

DraftingDrafter = Literal["model", "lookup", "auto"]

PairName = Annotated[
    str | None,
    typer.Argument(metavar="PAIR", help="A pair of `mlx-spec pairs`; the built-in one if left out."),
]
Target = Annotated[
    str | None, typer.Option(metavar="REPO|FOLDER", help="Target model, instead of a pair's name.")
]
Draft = Annotated[
    str | None,
    typer.Option(
        metavar="REPO|FOLDER|none", help="Draft model; beside a pair's name it replaces the pair's own."
    ),
]
Revision = Annotated[
    str | None,
    typer.Option(metavar="REV", help="Branch, tag or commit of the target. A draft's own: org/name@REV."),
]
DraftHead = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Let the draft guess among the N most frequent tokens only: the same text, shorter draft steps "
        "where its vocabulary is large.",
    ),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Raw = Annotated[bool, typer.Option("--raw", help="Continue the text as it stands, without chat template.")]
MaxTokens = Annotated[int, typer.Option(help="Longest answer, in tokens.")]
Temperature = Annotated[float, typer.Option(help="0 is greedy.")]
TopP = Annotated[float, typer.Option(help="Nucleus sampling; 1 keeps everything.")]
TopK = Annotated[int, typer.Option(help="Keep the likeliest K tokens; 0 keeps everything.")]
MinP = Annotated[
    float, typer.Option(help="Drop tokens below this share of the likeliest one; 0 keeps everything.")
]
RepetitionPenalty = Annotated[float, typer.Option(help="1 is off.")]
Seed = Annotated[
    int | None, typer.Option(help="Same seed, same text, drafted or not. Chosen and reported if left out.")
]
DraftLength = Annotated[
    str,
    typer.Option(
        metavar="N|auto",
        help=f"Tokens drafted per round, 0 to {MAX_DRAFT_LENGTH}. "
        f"auto is {DEFAULT_DRAFT_LENGTH}; once `tune` measured the pair here, what pays.",
    ),
]
NoDraft = Annotated[bool, typer.Option("--no-draft", help="Plain decoding: the same text, without drafting.")]
Drafter = Annotated[
    DraftingDrafter | None,
    typer.Option(help="Who guesses: the draft model, lookup in the text so far, or whichever fits (auto)."),
]
Verify = Annotated[
    Rule, typer.Option(help="Rule above temperature 0; with coupled the text depends on the seed alone.")
]


def draft_length(text: str) -> int | None:
    """`auto` is None: the engine's policy decides.

    Raises:
        BadInput: neither a whole number nor `auto`.
    """
    if text.strip().lower() == "auto":
        return None
    try:
        return int(text)
    except ValueError:
        raise BadInput(
            f"--draft-length is {text}; give a number from 0 to {MAX_DRAFT_LENGTH}, or auto."
        ) from None


def drafter_name(drafter: DraftingDrafter | None, no_draft: bool, length: int | None = None) -> DrafterName:
    """The engine's name for what was asked.

    Raises:
        BadInput: --no-draft beside an option that only matters with drafting.
    """
    if not no_draft:
        return drafter or "auto"
    if drafter is not None:
        raise BadInput(f"--no-draft and --drafter {drafter} contradict each other. Give one of them.")
    if length:
        raise BadInput(f"--no-draft and --draft-length {length} contradict each other. Give one of them.")
    return "none"


def chosen_seed(seed: int | None) -> int:
    """The seed given, or a fresh one."""
    return secrets.randbelow(2**32) if seed is None else seed


def chosen_pair(
    pair: str | None,
    target: str | None,
    draft: str | None,
    revision: str | None,
    draft_head: int | None = None,
) -> "PairSpec":
    """The pair that the arguments mean."""
    from models.resolve import resolve

    return resolve(pair, target, draft, revision, draft_head)


def tell_config_problems() -> None:
    """Say what in config.toml could not be used."""
    from app.config import read_config
    from app.output import talk

    for problem in read_config().problems:
        talk(problem)


def loaded_pair(spec: "PairSpec") -> "LoadedPair":
    """The pair in memory, loaded on this thread, which must do all its work."""
    from app.output import Progress, talk
    from app.runtime import prepare

    progress = Progress()
    progress.show(f"Loading {spec.name} ...")
    prepare()
    from app.round_costs import use_costs
    from models.load import load

    try:
        pair = load(spec)
        use_costs(pair)
    finally:
        progress.clear()
    for note in pair.notes:
        talk(note)
    return pair


def check_drafter(pair: "LoadedPair", options: Options) -> None:
    """Refuse the draft model's name where there is no draft model.

    Raises:
        BadInput: the pair has no draft model.
    """
    if options.drafter == "model" and not pair.engine.can_draft:
        raise BadInput(
            f"{pair.spec.name} has no draft model. Use --drafter lookup, or name one with --draft."
        )
