"""Carries out `/` commands, whether typed, picked from the list or from the palette."""

import re
from collections.abc import Callable, Coroutine
from inspect import isawaitable
from pathlib import Path
from typing import Protocol

from app.chat.attachments import attach
from app.chat.history_actions import HistoryActions
from app.chat.open_chat import OpenChat
from app.chat.pair_removal import remove_after_asking
from app.chat.pull_queue import PullQueue
from app.chat.settings import change, describe
from app.chat.slash_commands import SlashCommand, parse
from app.settings.config import Config
from app.shell.errors import AppError, BadInput
from app.shell.number_text import counted
from app.shell.pull_text import warning
from app.tui.keys.in_force import Keys
from app.tui.screens.opener import Opener
from app.tui.widgets.conversation_view import ConversationView
from app.tui.widgets.message_actions import MessageActions
from app.tui.widgets.prompt import Prompt
from models.errors import UnknownPair
from models.pairs.catalogue import Pair, find
from models.pairs.installed import installed
from models.size_text import size_text
from models.speed.fit import fit

ACTIONS = {
    "help": "app.help",
    "comparisons": "app.comparisons",
    "rounds": "screen.inspect",
    "stats": "screen.totals",
    "welcome": "app.welcome",
    "pairs": "app.pairs",
    "messages": "screen.browse",
    "theme": "app.themes",
    "quit": "app.quit",
}
"""Commands that do what a key does."""


class Program(Protocol):
    """What commands ask of the program around the chat."""

    keys: Keys
    config: Config
    pulls: PullQueue

    async def run_action(self, action: str) -> bool: ...
    def run_worker(self, work: Coroutine[None, None, None]) -> object: ...
    async def ask(self, question: str, yes: str, no: str) -> bool: ...


class CommandRunner:
    """Changes settings, runs the actions of keys, and carries out the other commands."""

    def __init__(
        self,
        program: Program,
        opener: Opener,
        chat: OpenChat,
        view: ConversationView,
        prompt: Prompt,
        actions: MessageActions,
        saved: HistoryActions,
    ) -> None:
        self._program = program
        self._opener = opener
        self._chat = chat
        self._view = view
        self._prompt = prompt
        self._actions = actions
        self._commands: dict[str, Callable[[str], object]] = {
            "compare": opener.compare,
            "sweep": lambda value: opener.compare(value, sweep=True),
            "use": self._use,
            "pull": self._pull,
            "remove": self._remove,
            "system": self._system,
            "marks": self._marks,
            "copy": self._copy,
            "edit": lambda _: actions.edit(),
            "regenerate": lambda value: actions.regenerate(value or "new"),
            "continue": lambda _: actions.continue_answer(),
            "branch": self._branch,
            "think": lambda _: actions.fold(),
            "attach": self._attach,
            "detach": self._detach,
            "editor": lambda _: self._prompt.area.action_editor(),
            "sessions": opener.sessions,
            "resume": lambda value: saved.resume(value or "last"),
            "new": lambda _: self._chat.clear(),
            "clear": lambda _: self._chat.clear(),
            "rename": saved.rename,
            "archive": lambda _: saved.archive(),
            "delete": lambda _: saved.delete(),
            "undo": lambda _: saved.undo(),
            "export": saved.export,
            "import": saved.import_file,
            "preset": saved.preset,
            "stop": self._stop,
            "config": self._config,
            "log": lambda _: self._note(f"The engine's log: {self._chat.link.client.log_path}"),
        }

    async def run(self, text: str) -> None:
        """Run a typed command; what cannot be done is said in the conversation."""
        try:
            command, value = parse(text)
            if command.is_setting:
                self._set(command, value)
            elif command.name in ACTIONS:
                await self._program.run_action(ACTIONS[command.name])
            else:
                work = self._commands[command.name](value)
                if isawaitable(work):
                    await work
        except AppError as error:
            self._note(str(error), failed=True)

    def _set(self, command: SlashCommand, value: str) -> None:
        if value:
            self._chat.change_settings(change(self._chat.settings, command.name, value.lower()))
        when = " from the next answer on" if value else f". Change it with {command.usage}"
        text = describe(self._chat.settings, command.name)
        self._note(f"{text[0].upper()}{text[1:]}{when}.")

    def _use(self, value: str) -> None:
        pair = self._pair(value)
        if not installed(pair.spec):
            raise BadInput(f"{pair.name} is not on this machine. Get it with /pull {pair.name}.")
        self._opener.use(pair)

    def _pull(self, value: str) -> None:
        pair = self._pair(value)
        if installed(pair.spec):
            raise BadInput(f"{pair.name} is on this machine already. Use it with /use {pair.name}.")
        self._program.pulls.add(pair.spec)
        where = self._program.keys.fill_in("{app.pairs} shows how far it is.")
        what = f"Downloading {pair.name}, {size_text(pair.download_bytes)}. {where} {warning(fit(pair))}"
        self._note(what.rstrip())

    def _remove(self, value: str) -> None:
        pair = self._pair(value)

        program = self._program

        async def remove() -> None:
            self._note(await remove_after_asking(pair, self._chat.link.pair, program.pulls, program.ask))

        self._program.run_worker(remove())

    def _pair(self, name: str) -> Pair:
        if not name:
            raise BadInput("Name a pair; /pairs lists them.")
        try:
            return find(name)
        except UnknownPair as error:
            own = "{app.pairs}, then {pairs.own} adds one from repositories or folders."
            text = (
                f"There is no pair {name}. {self._program.keys.fill_in(own)}" if "/" in name else str(error)
            )
            raise BadInput(text) from error

    def _system(self, value: str) -> None:
        conversation = self._chat.conversation
        if value:
            conversation.set_up(system="" if value == "none" else value)
        text = f"Instructions: {conversation.system}" if conversation.system else "There are no instructions."
        self._note(text)

    def _marks(self, value: str) -> None:
        if value not in ("on", "off", ""):
            raise BadInput(f"'{value}' is neither on nor off.")
        self._view.show_marks(value == "on" if value else not self._view.marks)

    def _copy(self, value: str) -> None:
        what, _, number = value.partition(" ")
        if what not in ("", "code") or not re.fullmatch(r"\d{0,9}", number):
            raise BadInput(f"'{value}' cannot be copied. It is /copy, /copy code or /copy code 2.")
        if what:
            self._actions.copy_code(int(number) if number else None)
        else:
            self._actions.copy()

    def _branch(self, value: str) -> None:
        if value not in ("before", "after"):
            raise BadInput(f"'{value}' is neither before nor after.")
        self._actions.walk(-1 if value == "before" else 1)

    def _attach(self, value: str) -> None:
        if not value:
            raise BadInput("Name the file: /attach FILE")
        self._prompt.attach(attach(Path(value.strip('"')), self._chat.context_limit))

    def _detach(self, value: str) -> None:
        files = self._prompt.take_attachments()
        self._note(f"{counted(len(files), 'attached file')} left out.")

    def _stop(self, value: str) -> None:
        if not self._chat.can_stop:
            raise BadInput("There is nothing to stop.")
        self._chat.stop()

    def _config(self, value: str) -> None:
        self._note(
            f"Settings: {self._program.config.file}. `mlx-spec config` prints every key and what holds."
        )

    def _note(self, text: str, *, failed: bool = False) -> None:
        self._view.note(text, "error" if failed else "info")
