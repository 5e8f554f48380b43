"""What the next answer of a chat is asked with, all at once: instructions, sampling, drafting."""

from app.chat.settings import FIELDS, Settings
from app.shell.printable import printable

OFF = {"top-p": "1", "top-k": "0", "min-p": "0", "penalty": "1"}
"""The values at which a filter does nothing."""


def setup_rows(system: str, settings: Settings) -> list[tuple[str, str]]:
    """As (name, value); every setting has the name of the command that changes it."""
    shown = {name: f"{name} {setting.shown(settings.options)}" for name, setting in FIELDS.items()}
    drafting = [name for name, setting in FIELDS.items() if setting.key.startswith("drafting.")]
    off = [name for name, value in OFF.items() if shown[name] == f"{name} {value}"]
    told = ", ".join(shown[name] for name in FIELDS if name not in (*off, *drafting))
    return [
        ("Instructions", printable(system) or "none"),
        ("Sampling", f"{told}; {', '.join(off)} off" if off else told),
        ("Drafting", "on, " + ", ".join(shown[name] for name in drafting) if settings.drafts else "off"),
    ]
