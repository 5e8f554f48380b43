"""What a person may set of `Options`: one entry makes the flag, the key of config.toml and the slash command.

The type, the default and the range are those of the field of `Options`.
"""

from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any, get_args, get_type_hints

from mlx_spec.errors import OutOfRange
from mlx_spec.types import MAX_DRAFT_LENGTH, Options

AUTO = "auto"
DRAFTERS = ("model", "lookup", "recycling")
"""In place of None where that leaves the value to the engine."""
FEWER_DIGITS = "a number of fewer digits"
_TYPES = get_type_hints(Options)
_WORDS: dict[type, str] = {int: "a whole number", float: "a number"}


@dataclass(frozen=True, slots=True)
class OptionSetting:
    """One field of `Options`, and what a person calls it."""

    field: str
    key: str
    """In config.toml, with its table."""
    value: str
    """The value's name in help."""
    help: str
    command: str
    """The slash command, without its slash."""
    choices: tuple[str, ...] = ()
    """The names it may have; none where it is a number."""

    @property
    def flag(self) -> str:
        return f"--{self.field.replace('_', '-')}"

    @property
    def takes_auto(self) -> bool:
        return type(None) in get_args(_TYPES[self.field])

    def read(self, text: str) -> Any:
        """The value that was typed.

        Raises:
            OutOfRange: the option cannot have it.
        """
        if self.choices or text == AUTO:
            return self.check(text)
        try:
            value = self._kind(text)
        except ValueError:
            many = text.strip().lstrip("+-").isdecimal()  # Python reads numbers of 4,300 digits at most
            wanted = FEWER_DIGITS if many else self._wanted
            raise OutOfRange(self.field, text or "empty", wanted) from None
        return self.check(value)

    def check(self, value: object) -> Any:
        """The value of the option for a number or name, as config.toml holds them.

        Raises:
            OutOfRange: the option cannot have it.
        """
        if self.takes_auto and value == AUTO:
            return None
        if self.choices:
            if value not in self.choices:
                near = get_close_matches(str(value), self.choices, n=1)
                raise OutOfRange(self.field, value, self._wanted + (f" ({near[0]}?)" if near else ""))
        elif isinstance(value, bool) or not isinstance(value, (int, self._kind)):
            raise OutOfRange(self.field, value, self._wanted)
        elif self._kind is float and abs(value) >= 2**64:  # more than a float may hold
            raise OutOfRange(self.field, value, FEWER_DIGITS)
        else:
            value = self._kind(value)
        replace(Options(), **{self.field: value})  # it checks the range
        return value

    def shown(self, options: Options) -> str:
        """The value as it is typed: `0`, not `0.0`."""
        value = getattr(options, self.field)
        return AUTO if value is None else f"{value:g}" if isinstance(value, float) else str(value)

    @property
    def _kind(self) -> type[int] | type[float]:
        return float if _TYPES[self.field] is float else int

    @property
    def _wanted(self) -> str:
        if self.choices:
            return f"{', '.join(self.choices[:-1])} or {self.choices[-1]}"
        return _WORDS[self._kind] + (f" or {AUTO}" if self.takes_auto else "")


def _sampling(field: str, value: str, help: str, command: str = "") -> OptionSetting:  # noqa: A002
    name = field.replace("_", "-")
    return OptionSetting(field, f"sampling.{name}", value, help, command or name)


def _drafting(field: str, name: str, help: str, *choices: str, value: str = "") -> OptionSetting:  # noqa: A002
    return OptionSetting(field, f"drafting.{name}", value or "|".join(choices), help, name, choices)


OPTION_SETTINGS = (
    _sampling("temperature", "T", "Randomness; 0 is greedy, it always takes the likeliest token."),
    _sampling("top_p", "P", "Sample among the likeliest tokens that sum up to P; 1 keeps everything."),
    _sampling("top_k", "K", "Sample among the K likeliest tokens; 0 keeps everything."),
    _sampling("min_p", "P", "Drop tokens below P times the likeliest one; 0 keeps everything."),
    _sampling("repetition_penalty", "X", "Make repeated tokens less likely; 1 is off.", command="penalty"),
    _sampling(
        "seed", "N", "Same seed, same text, drafted or not. Where none is set, one is drawn and shown."
    ),
    _sampling("max_tokens", "N", "Longest answer, in tokens."),
    _drafting(
        "draft_length",
        "length",
        f"Tokens drafted per round, 0 to {MAX_DRAFT_LENGTH}; 0 is plain decoding. "
        "auto is what pays here, measured at a pair's first use.",
        value="N|auto",
    ),
    _drafting(
        "drafter",
        "drafter",
        "Who drafts: the draft model, lookup in the text so far, recycling of the target's own runners-up "
        "(pairs without a draft model), or whichever fits (auto).",
        AUTO,
        *DRAFTERS,
    ),
    _drafting(
        "verify",
        "verify",
        "How drafts are checked above temperature 0; with coupled the text depends on the seed alone.",
        *get_args(_TYPES["verify"]),
    ),
)
"""In the order of `--help`."""
