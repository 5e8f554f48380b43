"""Arguments that several commands share, and what becomes of them."""

import secrets
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from app.shell.errors import BadInput
from mlx_spec.types import MAX_DRAFT_LENGTH, DrafterName, Options, Rule

if TYPE_CHECKING:
    from mlx_spec.policy.calibrate import Calibration
    from models.load.engine import LoadedPair
    from models.pairs.pair import PairSpec

DraftingDrafter = Literal["model", "lookup", "auto"]

PairName = Annotated[
    str | None,
    typer.Argument(metavar="PAIR", help="A pair of `mlx-spec pairs`; the built-in one if left out."),
]
CatalogueName = Annotated[str | None, typer.Argument(metavar="NAME", help="A pair of `mlx-spec pairs`.")]
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
Prompts = Annotated[
    Path | None, typer.Option(metavar="FILE.jsonl", help='Lines of {"id", "category", "prompt"}.')
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
        "auto is what pays here, measured at a pair's first use.",
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
            f"--draft-length is {text or 'empty'}; give a number from 0 to {MAX_DRAFT_LENGTH}, or auto."
        ) from None


def drafter_name(
    drafter: DraftingDrafter | None,
    no_draft: bool,
    length: int | None = None,
    draft_head: int | None = None,
) -> DrafterName:
    """The engine's name for what was asked.

    Raises:
        BadInput: options that contradict each other.
    """
    if drafter == "lookup" and draft_head is not None:
        raise BadInput(
            f"--drafter lookup and --draft-head {draft_head} contradict each other: lookup has no draft "
            "model. Give one of them."
        )
    if not no_draft:
        return drafter or "auto"
    if drafter is not None:
        raise BadInput(f"--no-draft and --drafter {drafter} contradict each other. Give one of them.")
    if length:
        raise BadInput(f"--no-draft and --draft-length {length} contradict each other. Give one of them.")
    if draft_head is not None:
        raise BadInput(f"--no-draft and --draft-head {draft_head} contradict each other. Give one of them.")
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
    """The pair that the arguments mean.

    Raises:
        BadInput: a head for a draft model that the pair does not have.
        ModelsError: no such pair, or arguments that contradict each other.
    """
    from models.pairs.resolve import resolve

    spec = resolve(pair, target, draft, revision, draft_head)
    if draft_head is not None and spec.draft is None:
        raise BadInput(f"--draft-head {draft_head} is of a draft model, and {spec.name} has none.")
    return spec


def named_pair(name: str | None, target: str | None, draft: str | None, revision: str | None) -> "PairSpec":
    """As `chosen_pair`, where the built-in pair is not what nothing stands for.

    Raises:
        BadInput: neither a name nor a target.
        ModelsError: no such pair, or arguments that contradict each other.
    """
    if name is None and target is None:
        raise BadInput("Name a pair (`mlx-spec pairs` lists them), or give --target and --draft.")
    return chosen_pair(name, target, draft, revision)


def tell_config_problems() -> None:
    """Say what in config.toml could not be used."""
    from app.settings.config import read_config
    from app.shell.output import talk

    for problem in read_config().problems:
        talk(problem)


def loaded_pair(spec: "PairSpec") -> "LoadedPair":
    """The pair in memory, loaded on this thread, which must do all its work."""
    from app.shell.output import Progress, talk
    from app.shell.runtime import prepare

    progress = Progress()
    progress.show(f"Loading {spec.name} ...")
    prepare()
    from models.hub.endpoint import check_endpoint

    check_endpoint()  # the libraries that read models do not survive a malformed one
    from models.load.engine import load

    try:
        pair = load(spec)
    finally:
        progress.clear()
    for note in pair.notes:
        talk(note)
    return pair


def tuned_pair(spec: "PairSpec", options: Options) -> "LoadedPair":
    """The pair in memory, as `loaded_pair`; what drafting costs is measured where that matters.

    Raises:
        BadInput: the options ask for a draft model and the pair has none.
    """
    pair = loaded_pair(spec)
    check_drafter(pair, options)
    from app.engine import drafting_state

    if drafting_state.adapts(options) and not drafting_state.restore(pair):
        measured(pair)
    return pair


def keep_learned(pair: "LoadedPair", options: Options) -> None:
    """Write down what answers taught about drafting with this pair."""
    from app.engine import drafting_state

    if drafting_state.adapts(options):
        drafting_state.keep(pair)


def measured(pair: "LoadedPair") -> "Calibration":
    """What drafting costs with the pair, measured now and told; Ctrl+C ends it early."""
    from app.engine import drafting_state
    from app.shell.interrupt import Interrupt
    from app.shell.output import Progress, talk

    line = Progress()
    said = "Measuring what drafting costs here, once"
    if not line.seen:
        talk(f"{said} (under 5 s; Ctrl+C skips).")
    with Interrupt() as interrupt:
        calibration = drafting_state.measure(
            pair,
            lambda done, total: line.show(f"{said}: {done} of {total}. Ctrl+C skips."),
            lambda: interrupt.pressed,
        )
    line.clear()
    if not drafting_state.keep(pair):
        talk(f"It is not kept: {drafting_state.state_file(pair)} cannot be written. See `mlx-spec doctor`.")
    if interrupt.pressed:
        talk("Measuring was cut short: what was timed until then is used, answers teach the rest.")
    return calibration


def check_drafter(pair: "LoadedPair", options: Options) -> None:
    """Refuse the draft model's name where there is no draft model.

    Raises:
        BadInput: the pair has no draft model.
    """
    if options.drafter == "model" and "model" not in pair.engine.drafter_names:
        raise BadInput(
            f"{pair.spec.name} has no draft model. Use --drafter lookup, or name one with --draft."
        )
