"""Runs `/` commands, typed, picked from the menu or from the palette; opens the screens over the chat."""

import os
from collections.abc import Awaitable, Callable
from functools import partial
from inspect import isawaitable
from pathlib import Path

from app.chat.attachments import attach, unmarked
from app.chat.open_chat import NOT_KEPT
from app.chat.pair_removal import remove_after_asking
from app.chat.settings import change, describe
from app.chat.slash_commands import SlashCommand, parse
from app.compare.request import read_compare, read_sweep
from app.history.export import Kind
from app.history.records import ChatRow
from app.settings.options import DRAFTER, THINKING, check_drafters, obeyed
from app.shell.errors import AppError, BadInput
from app.shell.named_file import written_out
from app.shell.number_text import counted
from app.shell.pull_text import warning
from app.tui.program import Program
from app.tui.screens.compare import CompareScreen
from app.tui.screens.comparisons import ComparisonsScreen
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.notices import NoticesScreen
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.palette import ThemePalette
from app.tui.screens.question import ask
from app.tui.screens.sessions import SessionsScreen
from app.tui.theme import THEME_NAMES
from app.tui.widgets.conversation_view import ConversationView
from app.tui.widgets.message_actions import MessageActions
from app.tui.widgets.prompt import Prompt
from models.errors import UnknownPair
from models.pairs.catalogue import Pair, find
from models.pairs.installed import installed
from models.size_text import size_text
from models.speed.fit import fit

EXPORTS: dict[str, Kind] = {"markdown": "markdown", "md": "markdown", "txt": "markdown", "json": "json"}
"""The kind of an export by its name or the end of the file's name."""


class CommandRunner:
    def __init__(self, app: Program, view: ConversationView, prompt: Prompt, actions: MessageActions) -> None:
        self._app = app
        self._chat = chat = app.state
        self._view = view
        self._prompt = prompt
        self._actions = actions
        saved = app.saved
        self._commands: dict[str, Callable[[str], object]] = {
            "help": lambda _: app.run_action("app.help"),
            "rounds": lambda _: app.run_action("screen.inspect"),
            "stats": lambda _: app.run_action("screen.totals"),
            "messages": lambda _: app.run_action("screen.browse"),
            "theme": self._theme,
            "quit": lambda _: app.run_action("app.quit"),
            "compare": self._compare,
            "sweep": lambda value: self._compare(value, sweep=True),
            "comparisons": lambda _: app.push_screen(ComparisonsScreen()),
            "pairs": lambda _: self._pairs(),
            "welcome": lambda _: self.welcome(),
            "notices": lambda _: app.push_screen(NoticesScreen([*view.notices.kept])),
            "use": self._use,
            "pull": self._pull,
            "remove": self._remove,
            "system": self._system,
            "marks": self._marks,
            "copy": actions.copy,
            "edit": lambda _: actions.edit(),
            "regenerate": lambda value: actions.regenerate(value or "new"),
            "continue": lambda _: actions.continue_answer(),
            "branch": actions.walk,
            "thoughts": lambda _: actions.fold(),
            "attach": self._attach,
            "detach": lambda _: self._detach(),
            "editor": lambda _: prompt.area.action_editor(),
            "sessions": self._sessions,
            "resume": lambda value: saved.resume(value or "last"),
            "new": self._new,
            "clear": self._new,
            "temporary": lambda _: f"{self._begin(is_kept=False)} {NOT_KEPT}".lstrip(),
            "rename": lambda value: saved.rename(chat.conversation.chat, value),
            "archive": lambda _: saved.archive(saved.kept()),
            "delete": lambda _: saved.delete(saved.kept()),
            "undo": lambda _: saved.undo(),
            "export": self._export,
            "import": self._import,
            "preset": saved.preset,
            "stop": self._stop,
            "config": lambda _: (
                f"Settings: {app.config.file}. `mlx-spec config` prints every key with its value."
            ),
            "log": lambda _: f"The engine's log: {chat.link.client.log_path}",
        }
        """By name; a text that a command returns is shown."""

    async def run(self, text: str) -> None:
        """Run a typed command in the chat."""
        self.return_to_chat()
        await self._tell(self._run(text))

    async def _tell(self, work: Awaitable[object]) -> None:
        """Show what work returns if that is a text, or its error."""
        try:
            if isinstance(done := await work, str):
                self._view.note(done)
        except AppError as error:
            self._view.note(str(error), "mistake" if isinstance(error, BadInput) else "error")

    async def _run(self, text: str) -> object:
        command, value = parse(text)
        if command.is_setting:
            return self._set(command, value)
        if "FILE" in command.value:  # completed or dropped in the prompt, it has an @
            value = unmarked(value)
        done = self._commands[command.name](value)
        return await done if isawaitable(done) else done

    def return_to_chat(self) -> None:
        """Close the screens above the chat."""
        while len(self._app.screen_stack) > 1:
            if isinstance(screen := self._app.screen, CompareScreen):
                screen.leave()  # not behind the command, which may begin another chat
            self._app.pop_screen()

    def welcome(self) -> None:
        """Explain the built-in pair and offer real ones, as at the first start."""
        self._app.push_screen(
            FirstRunScreen(), lambda chosen: self._pairs(chosen) if chosen is not None else None
        )

    def use(self, pair: Pair | None) -> None:
        """Answer with this pair from here on, loaded again if that failed; None changes nothing."""
        chat = self._chat
        if pair is not None and chat.link.client.is_server:
            text = f"The server answers with its own pair. For {pair.name} here: mlx-spec chat {pair.name}."
            self._view.note(text, "mistake")
        elif pair is not None and pair.spec == chat.link.pair and chat.link.state in ("loading", "ready"):
            self._view.note(f"{pair.name} is in use already.")
        elif pair is not None:
            self._view.note(f"Opening {pair.name}. The conversation goes on with it.")
            chat.use(pair.spec)

    def _compare(self, text: str, *, sweep: bool = False) -> None:
        """Run the comparison that a text describes, unless an answer is still being written."""
        if self._chat.running is not None:
            busy = "An answer is being written. Stop it with {chat.stop}, then compare."
            raise BadInput(self._app.keys.fill_in(busy))
        read = read_sweep if sweep else read_compare
        plan = read(text, self._chat.conversation, self._chat.settings.for_answer(drafting=True))
        if (info := self._chat.link.info) is not None:
            for setting in plan.settings:
                check_drafters(setting.drafter, info.name, info.drafters)
        self._app.push_screen(CompareScreen(plan=plan))

    def _pairs(self, chosen: str | None = None) -> None:
        self._app.push_screen(PairsScreen(chosen), self.use)

    def _sessions(self, text: str) -> None:
        sessions = SessionsScreen(text)

        async def open_chat(row: ChatRow | None) -> None:
            if row is not None:
                await self._tell(self._open(row, sessions.words))

        self._app.push_screen(sessions, open_chat)

    async def _open(self, row: ChatRow, words: list[str]) -> None:
        """Open a chat at the message that a search found in it."""
        if row.chat.id != self._chat.conversation.chat.id:
            await self._app.saved.resume(row.chat.id)
        if row.hit is not None:
            self._actions.show_hit(row.hit, words)

    def _set(self, command: SlashCommand, value: str) -> str:
        info = self._chat.link.info
        when = " from the next answer on" if value else f". Change it with {command.usage}"
        if value:
            settings = change(self._chat.settings, command.name, value.lower())
            if command.name == DRAFTER.command and info:
                check_drafters(settings.options.drafter, info.name, info.drafters)
            self._chat.change_settings(settings)
        elif command.name == DRAFTER.command and info:
            when += f"; {info.name} has {', '.join(info.drafters)}"
        think = self._chat.settings.options.think
        if command.name == THINKING.command and info and (not value or think not in info.thinks):
            when += f"; {obeyed(info.name, info.thinks)}"
        text = describe(self._chat.settings, command.name)
        return f"{text[0].upper()}{text[1:]}{when}."

    def _use(self, value: str) -> None:
        pair = self._pair(value)
        if not installed(pair.spec):
            if (job := self._app.pulls.of(pair.spec)) and job.unfinished:
                where = self._app.keys.fill_in("{app.pairs} shows the progress.")
                raise BadInput(f"{pair.name} is still being downloaded. {where}")
            raise BadInput(f"{pair.name} is not on this machine yet. /pull {pair.name} gets it.")
        self.use(pair)

    def _pull(self, value: str) -> str:
        pair = self._pair(value)
        if installed(pair.spec):
            raise BadInput(f"{pair.name} is on this machine already. Use it with /use {pair.name}.")
        self._app.pulls.add(pair.spec)
        where = self._app.keys.fill_in("{app.pairs} shows the progress.")
        what = f"Downloading {pair.name}, {size_text(pair.download_bytes)}. {where} {warning(fit(pair))}"
        return what.rstrip()

    def _remove(self, value: str) -> None:
        pair, app = self._pair(value), self._app
        work = remove_after_asking(pair, app.link.pair, app.pulls, partial(ask, app))
        app.run_worker(self._tell(work))  # it asks a question, and awaiting that here would never end

    def _pair(self, name: str) -> Pair:
        if not name:
            raise BadInput("Name a pair; /pairs lists them.")
        try:
            return find(name)
        except UnknownPair as error:
            own = "{app.pairs}, then {pairs.own} adds one from repositories or folders."
            unknown = f"There is no pair {name}. {self._app.keys.fill_in(own)}"
            raise BadInput(unknown if "/" in name else str(error)) from error

    def _begin(self, *, keeps_settings: bool = False, is_kept: bool = True) -> str:
        """Begin a new chat; returns which settings it does not have, to be said once."""
        chat, drafted = self._chat, self._chat.settings.drafts
        left = [] if keeps_settings else chat.own_settings
        chat.clear(keeps_settings=keeps_settings, is_kept=is_kept)
        self._app.run_worker(self._app.saved.offer_last())
        if chat.settings.drafts != drafted:
            left.append(f"drafting {'on' if drafted else 'off'}")
        return f"A new chat, with the defaults in place of {', '.join(left)}." if left else ""

    def _new(self, value: str) -> str | None:
        if value not in ("", "keep"):
            raise BadInput(f"Nothing was done: the value can only be keep, not '{value}'.")
        left = self._begin(keeps_settings=bool(value))
        return f"{left} /new keep keeps the settings." if left else None

    def _system(self, value: str) -> str:
        if value:
            self._chat.instruct("" if value == "none" else value)
        system = self._chat.conversation.system
        return f"Instructions: {system}" if system else "There are no instructions."

    def _theme(self, name: str) -> None:
        if not name:
            self._app.push_screen(ThemePalette())
        elif name not in THEME_NAMES:
            raise BadInput(f"There is no theme '{name}'. /theme lists them.")
        else:
            self._app.theme = name

    def _marks(self, value: str) -> None:
        if value not in ("on", "off", ""):
            raise BadInput(f"/marks takes on or off, not '{value}'.")
        self._view.show_marks(value == "on" if value else not self._view.marks)

    def _attach(self, value: str) -> None:
        if not value:
            raise BadInput("Name the file: /attach FILE")
        self._prompt.attach(attach(Path(value), self._chat.context_limit))

    def _detach(self) -> str:
        if not (files := self._prompt.take_attachments()):
            raise BadInput("No file is attached. /attach FILE attaches one.")
        return f"{counted(len(files), 'attached file')} removed."

    def _export(self, value: str) -> None:
        """Export the chat in view; `value`: `[markdown|json] [FILE or folder]`."""
        kind, _, file = value.partition(" ")
        if kind.lower() not in EXPORTS:
            needs_name = not value or value.endswith("/") or os.path.isdir(written_out(value))
            kind, file = "md" if needs_name else Path(value).suffix[1:] or value, value
        if kind.lower() not in EXPORTS:
            either = f"End the name in .md or .json, or write /export markdown {value}."
            raise BadInput(f"Nothing was written: an export is Markdown or JSON, not {kind}. {either}")
        saved = self._app.saved
        work = saved.export(saved.current(), EXPORTS[kind.lower()], file.strip())
        self._app.run_worker(self._tell(work))  # it may ask a question, as in `_remove`

    def _import(self, value: str) -> None:
        work = self._app.saved.import_file(value)
        self._app.run_worker(self._tell(work))  # many chats take seconds, in which keys would wait

    def _stop(self, value: str) -> None:
        chat = self._chat
        if not chat.can_stop and chat.running is None and chat.editing is None:
            raise BadInput("No answer is being written.")
        chat.stop()
