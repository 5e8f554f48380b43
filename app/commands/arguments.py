"""Arguments that several commands share, and what becomes of them."""

import functools
import inspect
import secrets
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from app.settings.options import AUTO, OPTION_SETTINGS, OptionSetting
from app.shell.errors import BadInput
from mlx_spec.types import Options

if TYPE_CHECKING:
    from mlx_spec.calibrate import Calibration
    from models.load.engine import LoadedPair
    from models.pairs.pair import PairSpec

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
Raw = Annotated[bool, typer.Option("--raw", help="Continue the text as it is, without chat template.")]
FROM_FLAGS = Options()
"""In place of the default of a parameter that `takes_options` fills."""
NoDraft = Annotated[bool, typer.Option("--no-draft", help="Plain decoding: the same text, without drafting.")]


def takes_options(*names: str, **defaults: object) -> Callable[[Callable[..., int]], Callable[..., int]]:
    """Put flags in the place of a command's parameter `options`.

    Args:
        names: the options that become flags; where there are none, all of them, and `--no-draft`.
        defaults: those that are not the defaults of `Options`. A seed without one is drawn.

    The command raises OutOfRange for a value that an option cannot have, BadInput for flags that
    contradict each other.
    """
    settings = [setting for setting in OPTION_SETTINGS if not names or setting.field in names]

    def with_flags(command: Callable[..., int]) -> Callable[..., int]:
        parameters: list[inspect.Parameter] = []
        for parameter in inspect.signature(command).parameters.values():
            if parameter.name == "options":
                parameters += [_flag(setting, defaults) for setting in settings]
                parameters += [] if names else [_parameter("no_draft", NoDraft, False)]
            else:
                parameters.append(parameter)

        @functools.wraps(command)
        def run(**given: Any) -> int:
            texts = ((setting, given.pop(setting.field, None)) for setting in settings)
            values = {setting.field: setting.read(text) for setting, text in texts if text is not None}
            options = Options(**{"seed": secrets.randbelow(2**32), **defaults, **values})
            no_draft = given.pop("no_draft", False)
            _check_contradictions(options, no_draft, given.get("draft_head"))
            return command(**given, options=replace(options, drafter="none") if no_draft else options)

        run.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        run.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return run

    return with_flags


def _flag(setting: OptionSetting, defaults: dict[str, object]) -> inspect.Parameter:
    drawn = setting.field == "seed" and "seed" not in defaults
    default = None if drawn else setting.shown(replace(Options(), **defaults))
    option = typer.Option(metavar=setting.value, help=setting.help)
    return _parameter(setting.field, Annotated[str | None, option], default)


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    return inspect.Parameter(name, kind, default=default, annotation=annotation)


def _check_contradictions(options: Options, no_draft: bool, draft_head: int | None) -> None:
    head = f"--draft-head {draft_head}" if draft_head is not None else ""
    drafter = f"--drafter {options.drafter}" if options.drafter != AUTO else ""
    length = f"--draft-length {options.draft_length}" if options.draft_length else ""
    if no_draft and (drafted := drafter or length or head):
        raise BadInput(f"--no-draft and {drafted} contradict each other. Give one of them.")
    if head and options.drafter == "lookup":
        raise BadInput(
            f"{drafter} and {head} contradict each other: lookup has no draft model. Give one of them."
        )


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
    text = "Measuring what drafting costs here, once"
    if not line.seen:
        talk(f"{text} (under 5 s; Ctrl+C skips).")
    with Interrupt() as interrupt:
        calibration = drafting_state.measure(
            pair,
            lambda done, total: line.show(f"{text}: {done} of {total}. Ctrl+C skips."),
            lambda: interrupt.pressed,
        )
    line.clear()
    if not drafting_state.keep(pair):
        talk(f"It is not kept: {drafting_state.state_file(pair)} cannot be written. See `mlx-spec doctor`.")
    if interrupt.pressed:
        talk("Measuring was cut short: what was timed until then is used, answers teach the rest.")
    return calibration


def check_drafter(pair: "LoadedPair", options: Options) -> None:
    """Refuse a drafter that the pair does not have.

    Raises:
        BadInput: it has others, which are named.
    """
    known = pair.engine.drafter_names
    if options.drafter not in (AUTO, "none", *known):
        raise BadInput(f"{pair.spec.name} has no drafter {options.drafter}. It has: {', '.join(known)}.")
