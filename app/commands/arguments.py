"""Arguments that several commands share."""

import functools
import inspect
import os
import secrets
import signal
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Annotated, Any

import typer

from app.engine.loading import load
from app.history.answers import answers_folder
from app.settings.config import CHATS, drafter_named
from app.settings.options import AUTO, DRAFTER, DRAWN, OPTION_SETTINGS, AnswerOptions, OptionSetting
from app.shell import exit_codes, runtime
from app.shell.errors import BadInput
from app.shell.output import talk
from mlx_spec.types import BATCH_SIZES
from models.documents.folder import named_documents
from models.pairs.catalogue import fitting_draft
from models.pairs.drafter_kinds import DRAFT_MODELS
from models.pairs.folder import check_drafter
from models.pairs.pair import PairSpec, check_bits, local_source
from models.pairs.resolve import resolve

Command = Callable[..., int | None]
"""Returns its exit code; None is `DONE`."""

CatalogueName = Annotated[str | None, typer.Argument(metavar="NAME", help="A pair of `mlx-spec pairs`.")]
Target = Annotated[
    str | None,
    typer.Option(
        metavar="REPO|FOLDER|FILE.gguf",
        help="Target model, instead of a pair's name. For a branch, tag or commit: org/name@REV.",
    ),
]
Draft = Annotated[
    str | None,
    typer.Option(
        metavar="REPO|FOLDER|none",
        help="Draft model; with a pair's name, in place of the pair's draft model.",
    ),
]
Prompts = Annotated[
    Path | None,
    typer.Option(metavar="FILE.jsonl", help='Prompts to run: lines of {"id", "category", "prompt"}.'),
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Raw = Annotated[bool, typer.Option("--raw", help="Continue the text as it is, without chat template.")]
Stop = Annotated[
    list[str] | None, typer.Option(metavar="TEXT", help="End the answer before this text. Repeatable.")
]
AtOnce = Annotated[
    int,
    typer.Option(metavar="N", min=1, max=BATCH_SIZES[-1], help="Most requests answered at the same time."),
]
AT_ONCE = 8
SERVED = tuple(each.field for each in OPTION_SETTINGS if each.field not in ("seed", "max_tokens"))
"""AnswerOptions that a server or batch uses where a request leaves them out."""
NoDraft = Annotated[bool, typer.Option("--no-draft", help="Plain decoding: the same text, without drafting.")]


@dataclass(frozen=True, kw_only=True)
class PairArguments:
    """The argument and the flags that name a pair."""

    pair: Annotated[
        str | None,
        typer.Argument(
            metavar="PAIR",
            help="Default: the one in config.toml, else smollm2-135m if pulled, else builtin.",
        ),
    ] = None
    target: Target = None
    draft: Draft = None
    draft_head: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Let the draft model guess only the N most frequent tokens: the same text, faster draft "
            "steps if its vocabulary is large.",
        ),
    ] = None
    drafter_bits: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Quantize the weights of an unquantized head to N bits: 8, 4 or another number that MLX "
            "packs; 16 keeps them as they are. Default: the target's bits.",
        ),
    ] = None
    documents: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FOLDER|FILE|chats",
            help="Your own texts to draft from; `chats` are the saved answers. Repeatable.",
        ),
    ] = None
    drafters: tuple[str, ...] = ()
    """Folders that `--drafter` named."""

    def chosen(self) -> PairSpec:
        spec = resolve(self.pair, self.target, self.draft, self.draft_head, self.drafters)
        places = [
            answers_folder() if each == CHATS else named_documents(each) for each in self.documents or ()
        ]
        named = tuple(dict.fromkeys(str(place) for place in places if place))
        spec = replace(spec, documents=named, drafter_bits=check_bits(self.drafter_bits))
        if self.draft_head is not None and spec.draft is None:
            raise BadInput(f"--draft-head {self.draft_head} needs a draft model, and {spec.name} has none.")
        if self.target and not (self.draft or self.drafters):
            suggest_draft(spec)
        return spec


def suggest_draft(spec: PairSpec) -> None:
    """Name a draft model that should fit a target given alone, if one is known."""
    if not spec.draft and (fitting := fitting_draft(spec.target)) and not runtime.rank():
        talk(f"{spec.name} runs without a draft model. --draft {fitting} should fit.")


def named_pair(name: str | None, target: str | None, draft: str | None) -> PairSpec:
    """The named pair, for commands that do not default to the built-in one."""
    if name is None and target is None:
        raise BadInput("Name a pair (`mlx-spec pairs` lists them), or give --target.")
    return resolve(name, target, draft)


def with_flags(*names: str, **defaults: object) -> Callable[[Command], Command]:
    """Replace a command's parameters `pair` and `options` by flags; `keeps_seed` tells whether a flag or
    config.toml sets the seed.

    Args:
        names: the options that become flags, and `no_draft`; if empty, all of them.
        defaults: where they differ from those of `AnswerOptions`. Without a seed here, it is random.
    """
    settings = [setting for setting in OPTION_SETTINGS if not names or setting.field in names]
    replacements = {
        "pair": [
            flag for flag in inspect.signature(PairArguments).parameters.values() if flag.name != "drafters"
        ],
        "options": [_flag(setting, defaults) for setting in settings],
        "keeps_seed": [],
    }
    if not names or "no_draft" in names:
        replacements["options"].append(_parameter("no_draft", NoDraft, False))

    def decorated(command: Command) -> Command:
        wanted = inspect.signature(command).parameters
        flags = [flag for name, parameter in wanted.items() for flag in replacements.get(name, [parameter])]

        @functools.wraps(command)
        def run(**given: Any) -> int | None:
            named = {field.name: given.pop(field.name, None) for field in fields(PairArguments)}
            named["drafters"], drafter = _drafters(given.pop("drafter", None) or ())
            pair = PairArguments(**named)
            if runtime.rank():
                return _follow(pair.chosen())
            if "options" in wanted:
                typed = [(setting, given.pop(setting.field, None)) for setting in settings]
                values = {setting.field: setting.read(text) for setting, text in typed if text is not None}
                values |= {"drafter": drafter} if drafter else {}
                plain, head = given.pop("no_draft", False), named["draft_head"]
                given["options"] = _options({**defaults, **values}, no_draft=plain, draft_head=head)
                if "keeps_seed" in wanted:
                    given["keeps_seed"] = "seed" in values
            return command(pair=pair, **given)

        run.__signature__ = inspect.Signature(flags)  # type: ignore[attr-defined]
        run.__annotations__ = {flag.name: flag.annotation for flag in flags}
        return run

    return decorated


def _flag(setting: OptionSetting, defaults: dict[str, object]) -> inspect.Parameter:
    drawn = setting.field == "seed" and "seed" not in defaults
    default = None if drawn else setting.shown(replace(AnswerOptions(), **defaults))
    kind, metavar, about = str, setting.value, setting.help if drawn else setting.help.removesuffix(DRAWN)
    if setting == DRAFTER:
        kind, metavar, default = list[str], f"{metavar}|FOLDER", [default]
        about += " Repeatable. A folder is a drafter of your own."
    option = typer.Option(metavar=metavar, help=about)
    return _parameter(setting.field, Annotated[kind | None, option], default)


def _drafters(given: Sequence[str]) -> tuple[tuple[str, ...], str]:
    """The folders among the values of `--drafter`, and all drafter names, the folders' kinds included."""
    folders = tuple(text for text in given if _is_folder(text))
    names = [text for text in given if text not in folders]
    names += [check_drafter(Path(local_source(folder).repo)) for folder in folders]
    return folders, DRAFTER.read("+".join(names)) if names else ""


def _is_folder(text: str) -> bool:
    """Whether this is a path or an existing folder or file, not a (perhaps misspelled) drafter name."""
    return text not in DRAFTER.choices and ("/" in text or os.path.exists(text))


def _parameter(name: str, annotation: Any, default: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=annotation)


def _options(values: dict[str, Any], *, no_draft: bool, draft_head: int | None) -> AnswerOptions:
    options = AnswerOptions(**{"seed": secrets.randbelow(2**32), **values})
    head = f"--draft-head {draft_head}" if draft_head is not None else ""
    drafter = drafter_named(options.drafter) if options.drafter != AUTO else ""
    length = f"--draft-length {options.draft_length}" if options.draft_length else ""
    if no_draft and (drafted := drafter or length or head):
        raise BadInput(f"--no-draft and {drafted} contradict each other. Give one of them.")
    if head and drafter and not set(DRAFT_MODELS).intersection(options.drafter.split("+")):
        raise BadInput(
            f"{drafter} and {head} contradict each other: {options.drafter} has no draft model. "
            "Give one of them."
        )
    return replace(options, drafter="none") if no_draft else options


def stop_texts(stop: Sequence[str] | None) -> tuple[str, ...]:
    """The values of `--stop`; BadInput if one is empty."""
    if "" in (stop or ()):
        raise BadInput("--stop is empty. Give at least one character.")
    return tuple(stop or ())


def _follow(spec: PairSpec) -> int:
    """On several Macs, every rank but 0: follow rank 0, which alone prints and handles Ctrl+C."""
    engine = load(spec).engine
    from mlx_spec.shared import SharedEngine

    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if isinstance(engine, SharedEngine):
        engine.follow()
    return exit_codes.DONE
