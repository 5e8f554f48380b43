"""The settable options of an answer: one entry makes the flag, the key of config.toml and the slash command.

Type, default and range are those of the field.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from app.shell.errors import BadInput
from mlx_spec.errors import OutOfRange
from mlx_spec.types import MAX_DRAFT_LENGTH, Options, one_of
from models.pairs.drafter_kinds import KINDS

AUTO = "auto"
"""Stands for None, which leaves the value to the engine."""
DRAFTERS = (*KINDS, "foreign", "lookup", "recycling", "lookahead", "grounded")
"""All of them; which ones a pair has depends on its files."""
LEVELS = ("low", "medium", "high")
THINK = (AUTO, "on", "off", *LEVELS)


@dataclass(frozen=True, slots=True)
class AnswerOptions(Options):
    """The engine's options, and what the chat template is told."""

    think: str = AUTO
    """Whether the model thinks before it answers, and how much; `auto` leaves it to the model."""

    def __post_init__(self) -> None:
        Options.__post_init__(self)
        if self.think not in THINK:
            raise OutOfRange("think", self.think, one_of(THINK))


_TYPES = get_type_hints(AnswerOptions)


@dataclass(frozen=True, slots=True)
class OptionSetting:
    """A field of `AnswerOptions`, and its names in config.toml, help and chat; without choices, a number."""

    field: str
    key: str
    value: str
    help: str
    command: str
    choices: tuple[str, ...] = ()
    joins: bool = False
    """Whether several choices may be joined by `+`."""

    @property
    def takes_auto(self) -> bool:
        return type(None) in get_args(_TYPES[self.field])

    def read(self, text: str) -> Any:
        """Parse a typed value; OutOfRange if the option cannot have it."""
        value: object = text or "empty"
        if not self.choices:
            with suppress(ValueError):
                value = self._kind(text)
        return self.check(value)

    def check(self, value: object) -> Any:
        """The option's value for a number or name of config.toml; OutOfRange if it cannot have it."""
        if self.takes_auto and value == AUTO:
            return None
        if self.choices:
            value = self._chosen(value)
        elif isinstance(value, bool) or not isinstance(value, (int, self._kind)):
            wanted = "a number" if self._kind is float else "a whole number"
            raise OutOfRange(self.field, value, wanted + (f" or {AUTO}" if self.takes_auto else ""))
        else:
            with suppress(OverflowError):  # an integer too large for a float is out of range anyway
                value = self._kind(value)
        return getattr(replace(AnswerOptions(), **{self.field: value}), self.field)

    def _chosen(self, value: object) -> str:
        """One of the choices, or several: each once, joined by `+` (`,` is understood too)."""
        text = str(value)
        names = [name.strip() for name in text.replace(",", "+").split("+")] if self.joins else [text]
        if unknown := [name for name in names if name not in self.choices]:
            wanted = one_of(self.choices)
            near = get_close_matches(unknown[0], self.choices, n=1)
            raise OutOfRange(self.field, value, wanted + (f" ({near[0]}?)" if near else ""))
        if len(set(names)) > 1 and AUTO in names:
            raise OutOfRange(self.field, value, f"{AUTO} alone (all that the pair has), or names without it")
        return "+".join(dict.fromkeys(names))

    def shown(self, options: AnswerOptions) -> str:
        """The value as it is typed: `0`, not `0.0`."""
        value = getattr(options, self.field)
        return AUTO if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def _kind(self) -> type[int] | type[float]:
        return float if _TYPES[self.field] is float else int


def _sampling(field: str, value: str, help: str, *choices: str) -> OptionSetting:  # noqa: A002
    name = field.replace("_", "-")
    return OptionSetting(field, f"sampling.{name}", value, help, name, choices)


def _drafting(field: str, name: str, help: str, *choices: str, value: str = "") -> OptionSetting:  # noqa: A002
    return OptionSetting(field, f"drafting.{name}", value or "|".join(choices), help, name, choices)


_LENGTH = (
    f"Tokens drafted per round, 0 to {MAX_DRAFT_LENGTH}; 0 is plain decoding. "
    "auto chooses the fastest, from costs measured here at a pair's first use."
)
_DRAFTER = (
    f"The drafter: auto chooses among those of the pair; or name one: {', '.join(DRAFTERS)}; "
    "several are joined by +."
)
DRAWN = " If none is set, one is drawn and shown."
"""What the help of a seed adds, where it has no default."""
_THINK = (
    "Whether the model thinks before it answers, and how much; auto is the model's default. "
    "Some models know on and off, some low to high, most neither."
)
_VERIFY = (
    "The rule that verifies drafts above temperature 0; with coupled the text depends on the seed alone."
)

DRAFTER = replace(
    _drafting("drafter", "drafter", _DRAFTER, AUTO, *DRAFTERS, value=f"{AUTO}|NAME"), joins=True
)

THINKING = _sampling("think", "|".join(THINK), _THINK, *THINK)

OPTION_SETTINGS = (
    _sampling("temperature", "T", "Randomness; 0 is greedy, it always takes the likeliest token."),
    _sampling("top_p", "P", "Sample among the likeliest tokens that sum up to P; 1 keeps everything."),
    _sampling("top_k", "K", "Sample among the K likeliest tokens; 0 keeps everything."),
    _sampling("min_p", "P", "Drop tokens below P times the likeliest one; 0 keeps everything."),
    replace(
        _sampling("repetition_penalty", "X", "Make repeated tokens less likely; 1 is off."), command="penalty"
    ),
    _sampling("seed", "N", f"Same seed, same text, drafted or not.{DRAWN}"),
    _sampling("max_tokens", "N", "Longest answer, in tokens."),
    THINKING,
    _drafting("draft_length", "length", _LENGTH, value="N|auto"),
    DRAFTER,
    _drafting("verify", "verify", _VERIFY, *get_args(_TYPES["verify"])),
)
"""In the order of `--help`."""

SAMPLING = tuple(setting.field for setting in OPTION_SETTINGS if setting.key.startswith("sampling."))
"""The fields of the sampling."""


def copies(drafters: str) -> bool:
    """Whether `AnswerOptions.drafter` includes lookup, which copies from given texts."""
    return not {AUTO, "lookup"}.isdisjoint(drafters.split("+"))


def check_drafters(wanted: str, pair: str, known: Sequence[str]) -> None:
    """Raise BadInput if `AnswerOptions.drafter` names a drafter that the pair does not have."""
    for name in wanted.split("+"):
        if name not in (AUTO, "none", *known):
            hint = " Documents make it: --documents FOLDER." if name == "grounded" else ""
            if name in ("eagle", "medusa", "layer_skip"):
                hint = f" Training makes one: mlx-spec train TARGET --kind {name}."
            if name == "model" and "foreign" in known:
                hint = " Its draft has another tokenizer: --draft names it, and its drafter is foreign."
            raise BadInput(f"{pair} has no drafter {name}. It has: {', '.join(known)}.{hint}")


def unobeyed(wanted: str, pair: str, known: Sequence[str]) -> str:
    """A sentence that the pair's chat template does not obey `AnswerOptions.think`; empty if it does."""
    return "" if wanted in known else f"think {wanted} changes nothing: {obeyed(pair, known)}."


def obeyed(pair: str, known: Sequence[str]) -> str:
    """The values of `AnswerOptions.think` that the pair's chat template obeys, as a sentence's part."""
    return f"{pair} obeys {', '.join(known)}" if len(known) > 1 else f"{pair} has no switch for a thought"
