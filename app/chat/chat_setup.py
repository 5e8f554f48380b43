"""What the next answer of a chat is asked with, all at once: instructions, sampling, drafting."""

from app.chat.settings import FIELDS, Settings
from app.shell.printable import printable

DRAFTING = ("length", "drafter", "verify")
OFF = {"top-p": 1, "top-k": 0, "min-p": 0, "penalty": 1}
"""The values at which a filter does nothing."""


def setup_rows(system: str, settings: Settings) -> list[tuple[str, str]]:
    """As (name, value); every setting has the name of the command that changes it."""
    values = {name: getattr(settings.options, field) for name, (field, _) in FIELDS.items()}
    sampling = {name: value for name, value in values.items() if name not in DRAFTING}
    off = [name for name, nothing in OFF.items() if sampling[name] == nothing]
    told = ", ".join(f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}"
                     for name, value in sampling.items() if name not in off)  # fmt: skip
    drafting = ", ".join(f"{name} {'auto' if values[name] is None else values[name]}" for name in DRAFTING)
    return [
        ("Instructions", printable(system) or "none"),
        ("Sampling", f"{told}; {', '.join(off)} off" if off else told),
        ("Drafting", f"on, {drafting}" if settings.drafts else "off"),
    ]
