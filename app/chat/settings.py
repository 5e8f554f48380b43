"""What the next answer will be asked for, and how a typed command changes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TypeVar

from app.shell.errors import BadInput
from mlx_spec.errors import OutOfRange
from mlx_spec.types import Options

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the chat; drafting is switched beside them, so that it can be switched back."""

    options: Options
    drafting: bool = True

    @classmethod
    def of(cls, options: Options) -> "Settings":
        """Settings that begin with the options of the command line."""
        if options.drafter == "none" or options.draft_length == 0:
            drafter = "auto" if options.drafter == "none" else options.drafter
            length = options.draft_length or None
            return cls(replace(options, drafter=drafter, draft_length=length), drafting=False)
        return cls(options)

    @property
    def drafts(self) -> bool:
        """Whether the next answer is drafted."""
        return self.drafting and self.options.draft_length != 0

    def switched(self, drafting: bool) -> "Settings":
        """With drafting on or off; a length of 0 would keep it off and is forgotten."""
        length = self.options.draft_length or None
        return Settings(replace(self.options, draft_length=length) if drafting else self.options, drafting)

    def for_answer(self, *, drafting: bool | None = None) -> Options:
        """The options of one answer."""
        drafts = self.drafts if drafting is None else drafting
        return self.switched(True).options if drafts else replace(self.options, drafter="none")


def change(settings: Settings, name: str, value: str) -> Settings:
    """Apply `/name value`.

    Raises:
        BadInput: the value cannot be used; the message says what can.
    """
    try:
        if name == "draft":
            return settings.switched(_switch(value))
        field, read = FIELDS[name]
        return replace(settings, options=replace(settings.options, **{field: read(value)}))
    except OutOfRange as error:
        raise BadInput(error.of(f"/{name}")) from error
    except BadInput as error:
        raise BadInput(f"/{name}: {error}") from None


def describe(settings: Settings, name: str) -> str:
    """The value `/name` has, in words."""
    if name == "draft":
        return f"drafting is {'on' if settings.drafts else 'off'}"
    field, _ = FIELDS[name]
    value = getattr(settings.options, field)
    if isinstance(value, float):
        value = f"{value:g}"  # 0, not 0.0, as it is typed
    return f"{name} is {'automatic' if value is None else value}"


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise BadInput(f"'{text}' is neither on nor off.")
    return text == "on"


def _length(text: str) -> int | None:
    return None if text == "auto" else _number(int, "a whole number or auto")(text)


def _number(kind: Callable[[str], T], wanted: str) -> Callable[[str], T]:
    def read(text: str) -> T:
        try:
            return kind(text)
        except ValueError:
            raise BadInput(f"'{text}' is not {wanted}.") from None

    return read


def _one_of(*names: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        if text not in names:
            hint = " Switch drafting off with /draft off." if text == "none" else ""
            raise BadInput(f"'{text}' is none of {', '.join(names)}.{hint}")
        return text

    return read


_real = _number(float, "a number")
_whole = _number(int, "a whole number")

FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "length": ("draft_length", _length),
    "drafter": ("drafter", _one_of("auto", "model", "lookup")),
    "verify": ("verify", _one_of("coupled", "token", "block")),
    "temperature": ("temperature", _real),
    "top-p": ("top_p", _real),
    "top-k": ("top_k", _whole),
    "min-p": ("min_p", _real),
    "penalty": ("repetition_penalty", _real),
    "seed": ("seed", _whole),
    "max-tokens": ("max_tokens", _whole),
}
"""Command name to the field of `Options` and how its value is read."""
