"""What the next answer will be asked for, and how a typed command changes it."""

from collections.abc import Callable
from dataclasses import dataclass, replace

from app.errors import BadInput
from mlx_spec.errors import BadOption
from mlx_spec.types import DEFAULT_DRAFT_LENGTH, Options


@dataclass(frozen=True, slots=True)
class Settings:
    """The options of the chat; drafting is switched beside them, so that it can be switched back."""

    options: Options
    drafting: bool = True

    @classmethod
    def of(cls, options: Options) -> "Settings":
        """Settings that begin with the options of the command line."""
        if options.drafter == "none" or options.draft_length == 0:
            length = options.draft_length or None
            return cls(replace(options, drafter="auto", draft_length=length), drafting=False)
        return cls(options)

    @property
    def draft_length(self) -> int:
        """The most tokens a round drafts."""
        length = self.options.draft_length
        return DEFAULT_DRAFT_LENGTH if length is None else length

    def for_answer(self, *, drafting: bool | None = None) -> Options:
        """The options of one answer."""
        drafting = self.drafting if drafting is None else drafting
        return self.options if drafting else replace(self.options, drafter="none")


def change(settings: Settings, name: str, value: str) -> Settings:
    """Apply `/name value`.

    Raises:
        BadInput: the value cannot be used; the message says what can.
    """
    try:
        if name == "draft":
            return replace(settings, drafting=_switch(value))
        field, read = FIELDS[name]
        return replace(settings, options=replace(settings.options, **{field: read(value)}))
    except BadOption as error:
        raise BadInput(str(error)) from error
    except ValueError:
        raise BadInput(f"'{value}' is no value for /{name}.") from None


def describe(settings: Settings, name: str) -> str:
    """The value `/name` has, in words."""
    if name == "draft":
        return f"drafting is {'on' if settings.drafting else 'off'}"
    field, _ = FIELDS[name]
    value = getattr(settings.options, field)
    return f"{name} is {f'automatic ({settings.draft_length})' if value is None else value}"


def _switch(text: str) -> bool:
    if text not in ("on", "off"):
        raise BadInput(f"'{text}' is neither on nor off.")
    return text == "on"


def _length(text: str) -> int | None:
    return None if text == "auto" else int(text)


FIELDS: dict[str, tuple[str, Callable[[str], object]]] = {
    "length": ("draft_length", _length),
    "drafter": ("drafter", str),
    "verify": ("verify", str),
    "temperature": ("temperature", float),
    "top-p": ("top_p", float),
    "top-k": ("top_k", int),
    "min-p": ("min_p", float),
    "penalty": ("repetition_penalty", float),
    "seed": ("seed", int),
    "max-tokens": ("max_tokens", int),
}
"""Command name to the field of `Options` and how its value is read."""
