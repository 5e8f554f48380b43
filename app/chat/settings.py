"""The settings of the next answer, and how a typed command changes them."""

import secrets
from dataclasses import dataclass, replace

from app.settings.options import OPTION_SETTINGS, AnswerOptions
from app.shell.errors import BadInput
from app.shell.printable import printable
from mlx_spec.errors import OutOfRange

FIELDS = {setting.command: setting for setting in OPTION_SETTINGS}

OFF = {"top-p": "1", "top-k": "0", "min-p": "0", "penalty": "1"}


@dataclass(frozen=True, slots=True)
class Settings:
    """The chat's options. `drafting` is apart: off and on again keeps the drafter and the draft length."""

    options: AnswerOptions
    drafting: bool = True
    keeps_seed: bool = False
    """The person set the seed; otherwise each chat has a new one."""

    @classmethod
    def of(cls, options: AnswerOptions, *, keeps_seed: bool = False) -> "Settings":
        drafting = options.drafter != "none" and options.draft_length != 0
        drafter = "auto" if options.drafter == "none" else options.drafter
        options = replace(options, drafter=drafter, draft_length=options.draft_length or None)
        return cls(options, drafting, keeps_seed)

    @property
    def drafts(self) -> bool:
        return self.drafting and self.options.draft_length != 0

    def switched(self, drafting: bool) -> "Settings":
        """With drafting on or off; on resets a draft length of 0, which would keep it off."""
        length = self.options.draft_length or None
        options = replace(self.options, draft_length=length) if drafting else self.options
        return replace(self, options=options, drafting=drafting)

    def of_new_chat(self) -> "Settings":
        if self.keeps_seed:
            return self
        return replace(self, options=replace(self.options, seed=new_seed()))

    def differences(self, defaults: "Settings") -> list[str]:
        """The options that differ from the defaults, as typed: `temperature 0.7`."""
        return [
            f"{setting.command} {setting.shown(self.options)}"
            for setting in OPTION_SETTINGS
            if (setting.field != "seed" or self.keeps_seed)
            and getattr(self.options, setting.field) != getattr(defaults.options, setting.field)
        ]

    def for_answer(self, *, drafting: bool | None = None) -> AnswerOptions:
        drafts = self.drafts if drafting is None else drafting
        return self.switched(True).options if drafts else replace(self.options, drafter="none")


def new_seed() -> int:
    return secrets.randbelow(2**32)


def change(settings: Settings, name: str, value: str) -> Settings:
    """Apply `/name value`.

    Raises:
        BadInput: the value cannot be used; the message says what can.
    """
    if name == "draft":
        if value not in ("on", "off"):
            raise BadInput(f"/draft is {value}; it must be on or off.")
        return settings.switched(value == "on")
    setting = FIELDS[name]
    keeps_seed = settings.keeps_seed or setting.field == "seed"
    try:
        options = replace(settings.options, **{setting.field: setting.read(value)})
        return replace(settings, options=options, keeps_seed=keeps_seed)
    except OutOfRange as error:
        hint = " Switch drafting off with /draft off." if name == "drafter" and value == "none" else ""
        raise BadInput(error.of(f"/{name}") + hint) from error


def describe(settings: Settings, name: str) -> str:
    if name == "draft":
        return f"drafting is {'on' if settings.drafts else 'off'}"
    return f"{name} is {FIELDS[name].shown(settings.options)}"


def setup_rows(system: str, settings: Settings) -> list[tuple[str, str]]:
    """Rows of (name, value); each setting is named after its command."""
    shown = {name: f"{name} {setting.shown(settings.options)}" for name, setting in FIELDS.items()}
    drafting = [name for name, setting in FIELDS.items() if setting.key.startswith("drafting.")]
    off = [name for name, value in OFF.items() if shown[name] == f"{name} {value}"]
    shown_now = ", ".join(shown[name] for name in FIELDS if name not in (*off, *drafting))
    return [
        ("Instructions", printable(system) or "none"),
        ("Sampling", f"{shown_now}; {', '.join(off)} off" if off else shown_now),
        ("Drafting", "on, " + ", ".join(shown[name] for name in drafting) if settings.drafts else "off"),
    ]
