"""The `/` commands as data: one list serves typing, completion, help and the command palette."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from app.chat.settings import FIELDS
from app.settings.options import AUTO, DRAFTER
from app.shell.errors import BadInput


@dataclass(frozen=True, slots=True)
class SlashCommand:
    name: str
    value: str
    """The argument as shown in help; empty if there is none."""
    summary: str

    @property
    def usage(self) -> str:
        return f"/{self.name} {self.value}".rstrip()

    @property
    def needs_value(self) -> bool:
        return bool(self.value) and not self.value.startswith("[")

    @property
    def is_setting(self) -> bool:
        """Without its value it says what holds."""
        return self.name in ("draft", *FIELDS)


def _settings(table: str) -> list[SlashCommand]:
    settings = ((name, setting) for name, setting in FIELDS.items() if setting.key.startswith(table))
    return [SlashCommand(name, setting.value, setting.help.rstrip(".")) for name, setting in settings]


SLASH_COMMANDS = (
    SlashCommand("help", "", "Keys and commands"),
    SlashCommand("compare", "[all|FILE]", "Run the last prompt, default ones or a file, drafted and plain"),
    SlashCommand(
        "sweep",
        "[length=0-8 drafter=...]",
        "Compare several settings; also temperature=0,0.8 prompts=all|FILE repeats=N",
    ),
    SlashCommand("comparisons", "", "The saved comparisons: show, export, delete"),
    SlashCommand("rounds", "", "The rounds of the last answer: what was drafted, what was accepted"),
    SlashCommand("stats", "", "This chat: instructions, sampling, and what drafting gained so far"),
    SlashCommand("draft", "on|off", "Drafting for the next answer"),
    *_settings("drafting."),
    SlashCommand("pairs", "", "Choose or download a pair of models"),
    SlashCommand("welcome", "", "About the built-in pair, and real pairs that fit this machine"),
    SlashCommand("notices", "", "Messages from the program since it was started"),
    SlashCommand("use", "PAIR", "Use another pair from the next answer on"),
    SlashCommand("pull", "PAIR", "Download a pair; /pairs shows the progress"),
    SlashCommand("remove", "PAIR", "Delete a pair's files, after asking"),
    *_settings("sampling."),
    SlashCommand("system", "TEXT", "Instructions for the whole chat; `/system none` removes them"),
    SlashCommand(
        "preset", "[NAME|save NAME|delete NAME]", "Save instructions and sampling under a name, and use them"
    ),
    SlashCommand("sessions", "[TEXT]", "All chats: resume, search, rename, archive, delete, export"),
    SlashCommand("resume", "[ID|last]", "Go on with a chat, the last one if none is named"),
    SlashCommand("new", "[keep]", "Begin a new chat; `keep`: with this one's instructions and options"),
    SlashCommand("temporary", "", "Begin a temporary chat: nothing of it is written to disk"),
    SlashCommand("rename", "TITLE", "Give this chat another title"),
    SlashCommand("archive", "", "Archive this chat, or take it out of the archive"),
    SlashCommand("delete", "", "Delete this chat; /undo brings it back"),
    SlashCommand("undo", "", "Bring back the chat deleted last"),
    SlashCommand("export", "[markdown|json] [FILE]", "Write this chat to a file"),
    SlashCommand("import", "FILE", "Add the chats of an exported JSON file"),
    SlashCommand("messages", "", "Go to the messages: edit, regenerate, continue, copy, change branch"),
    SlashCommand("edit", "", "Edit the last prompt, or the chosen one; the old branch is kept"),
    SlashCommand("regenerate", "[new|same]", "Another answer, with a new seed or the same"),
    SlashCommand("continue", "", "Continue a stopped answer"),
    SlashCommand("branch", "before|after", "Go to the branch before or after this one"),
    SlashCommand("attach", "FILE", "Attach a file to the next prompt; @FILE in a prompt does it too"),
    SlashCommand("detach", "", "Remove the attached files"),
    SlashCommand("thoughts", "", "Show or fold the thoughts of an answer"),
    SlashCommand("editor", "", "Write the prompt in your own editor ($EDITOR)"),
    SlashCommand("marks", "[on|off]", "Mark which tokens of the answers were drafted and accepted"),
    SlashCommand("copy", "[code [N]]", "Copy the last answer, the chosen message, or a code block"),
    SlashCommand("stop", "", "Stop the answer and keep its text"),
    SlashCommand("clear", "[keep]", "The same as /new"),
    SlashCommand("theme", "[NAME]", "Choose the colours"),
    SlashCommand("config", "", "Where config.toml is, with keys, colours and defaults"),
    SlashCommand("log", "", "Where the engine's log is"),
    SlashCommand("quit", "", "Leave"),
)


def parse(text: str) -> tuple[SlashCommand, str]:
    """A typed command and its value.

    Raises:
        BadInput: there is no such command, and the nearest one is named; or it takes no value and has one.
    """
    name, value = [*text.removeprefix("/").split(maxsplit=1), "", ""][:2]
    for command in SLASH_COMMANDS:
        if command.name == name.lower():
            if value and not command.value:
                raise BadInput(f"Nothing was done: /{command.name} takes no value, not '{value.strip()}'.")
            return command, value.strip()
    names = [command.name for command in SLASH_COMMANDS]
    near = [n for n in names if name.endswith(f"-{n}")] or get_close_matches(name.lower(), names, n=1)
    hint = f"Did you mean /{near[0]}?" if near else "/help lists them all."
    raise BadInput(f"There is no command /{name}. {hint} With a space before the slash it is a prompt.")


def completions(text: str) -> list[SlashCommand]:
    """The commands that start with the typed `/na`; none once a value is being typed."""
    if not text.startswith("/") or any(c.isspace() for c in text):
        return []
    return [command for command in SLASH_COMMANDS if command.name.startswith(text[1:].lower())]


def drafter_completions(text: str, drafters: Sequence[str]) -> list[str]:
    """Completions of `/drafter na` from the pair's drafters; after a `+`, of the next name."""
    begun = text.removeprefix(start := f"/{DRAFTER.command} ").lstrip()
    if not text.startswith(start) or any(c.isspace() for c in begun):
        return []
    before, plus, typed = begun.rpartition("+")
    names = [name for name in drafters if name not in before.split("+")] if plus else [AUTO, *drafters]
    return _named(f"{start}{before}{plus}", typed, names)


def preset_completions(text: str, presets: Sequence[str]) -> list[str]:
    """Completions of `/preset na`, also behind `delete`; behind `save` a name may be a new one."""
    begun = re.match(r"/preset +(delete +)?", text)
    return _named(begun[0], text[begun.end() :], presets) if begun else []


def _named(before: str, typed: str, names: Sequence[str]) -> list[str]:
    """The names that begin as typed, each behind what stands before; none once one is typed in full."""
    found = [name for name in names if name.lower().startswith(typed.lower())]
    return [] if typed in names else [f"{before}{name}" for name in found]
