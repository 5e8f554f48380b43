"""The terminal app: its screens, its engine link, its keys."""

import asyncio
import os
import queue
import signal
import time
from functools import partial

from textual.binding import Binding
from textual.events import Event, Key, MouseDown, MouseUp, Paste
from textual.screen import Screen
from textual.selection import Selection
from textual.widget import Widget
from textual.widgets import Input

from app.chat.engine_link import PUMP_SECONDS, EngineLink
from app.chat.open_chat import NOT_KEPT
from app.chat.pull_queue import PullQueue
from app.chat.saved_chats import SavedChats
from app.chat.settings import Settings
from app.history.database import history_file
from app.history.saving import HistoryThread, News
from app.settings.config import Config
from app.settings.config_file import write_setting
from app.shell.errors import MachineFailed
from app.shell.printable import one_line, printable
from app.tui import messages
from app.tui.keys.in_force import Keys
from app.tui.keys.keymap import bind, short_key_name
from app.tui.program import Program
from app.tui.screens.chat import ChatScreen
from app.tui.screens.command_runner import CommandRunner
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.help import HelpScreen, about_focus, described_keys
from app.tui.screens.leaving import Leaving
from app.tui.screens.pairs import PairsScreen
from app.tui.screens.palette import Palette, SlashCommandProvider
from app.tui.screens.question import ask
from app.tui.terminal.signals import end_on_signals, suspend_between_steps
from app.tui.theme import OWN_THEMES, readable
from app.tui.widgets.download_list import outcome, paused_line
from app.tui.widgets.notices import copy, show_toast
from app.tui.widgets.transcript import Transcript
from models.paths import config_file, data_folder

CTRL_C_SECONDS = 2.0
WATCH_SECONDS = 0.5


class ChatApp(Program):
    """The chat with everything that opens from it."""

    TITLE = "mlx-spec"
    CSS_PATH = "chat.tcss"
    COMMANDS = {SlashCommandProvider}
    PAUSE_GC_ON_SCROLL = True
    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (80, "-wide"), (106, "-wider")]
    VERTICAL_BREAKPOINTS = [(0, "-short"), (18, "-tall")]

    BINDINGS = [
        # Priority bindings work in dialogs too.
        bind("f1", "help", "Help", "app.help", "Keys and commands", priority=True),
        bind("f2,ctrl+o", "command('pairs')", "Pairs", "app.pairs", "Choose or download a pair of models"),
        bind("ctrl+q", "quit", "Quit", "app.quit", "Leave", priority=True),
        bind("ctrl+p", "command_palette", "Commands", "app.commands", "Find a command", priority=True),
        bind("ctrl+z", "suspend_process", "", "app.suspend", "To the shell; `fg` returns", priority=True),
    ]

    def __init__(
        self,
        link: EngineLink,
        settings: Settings,
        config: Config | None = None,
        resume: str | None = None,
        *,
        is_kept: bool = True,
        welcomes: bool = False,
    ) -> None:
        """`resume`: the id of the chat to open, or `last`; without it a new chat, saved if `is_kept`.

        `welcomes`: the first start on this machine begins with an explanation.
        """
        # Under NO_COLOR Textual would still paint shades of grey over the terminal's own colours.
        super().__init__(ansi_color=True if "NO_COLOR" in os.environ else None)
        self.config = config or Config(config_file())
        self.set_keymap(self.config.keys)
        self.keys = Keys(self.config.keys)
        for theme in OWN_THEMES:
            self.register_theme(theme)
        self.theme = self.config["theme"]
        self.link = link
        self._news: queue.SimpleQueue[News] = queue.SimpleQueue()
        self._welcomes = welcomes and not history_file().exists()  # the next line makes it
        self.history = HistoryThread(history_file(), self._news.put)
        self.chat = chat = ChatScreen(
            link, settings, self.history,
            begins_anew=resume is None and is_kept, is_kept=is_kept, marks=self.config["marks"],
        )  # fmt: skip
        self.state = chat.state
        self.pulls = PullQueue(data_folder() / "downloads")
        self.saved = SavedChats(
            self.state, self.keys.fill_in, chat.unsent_prompts.put_back,
            lambda: self.config.export_folder,
            lambda file: ask(self, f"{one_line(str(file))} is there. Replace it?", "Replace", "Keep it"),
        )  # fmt: skip
        self.runner = CommandRunner(self, chat.view, chat.prompt, chat.actions)
        self.unsaved = 0
        """Messages and unsent prompts that could not be saved, counted when the program ends."""
        self.leaving = Leaving(self, lambda: chat.unsent_prompts.lost)
        self._resume = resume
        self._ctrl_c_at = float("-inf")
        self._selections: dict[Widget, Selection] = {}
        """The last mouse selection, which was copied."""
        self._typed_ahead: list[Key | Paste] | None = []
        """Keys and pastes that came before the prompt was ready; None once it is."""

    def get_css_variables(self) -> dict[str, str]:
        of_256 = self.console.color_system == "256"
        self.theme_variables = readable(self.current_theme, super().get_css_variables(), of_256=of_256)
        return self.theme_variables

    def get_key_display(self, binding: Binding) -> str:
        return short_key_name(binding.key)

    def get_default_screen(self) -> Screen[None]:
        return self.chat

    def on_mount(self) -> None:
        self.link.listener = partial(self.call_later, self.chat.take_pair_event)
        self.set_interval(PUMP_SECONDS, self._pump)
        self.set_interval(WATCH_SECONDS, self._watch)
        # The shell has written over the screen meanwhile.
        self.app_resume_signal.subscribe(self, lambda _: self.refresh(layout=True))
        self.watch(self, "theme", self._keep_theme, init=False)
        if not self.is_headless:
            end_on_signals(self.exit)
            if (driver := self._driver) is not None and driver.can_suspend:
                suspend_between_steps(lambda: driver._auto_restart)
        if self._welcomes:
            self.runner.welcome()

    def action_suspend_process(self) -> None:
        if os.getsid(0) == os.getpgrp():
            self.state.view.note("There is no shell to return to.", "mistake")
        elif self._driver is not None and self._driver.can_suspend:
            with self.suspend():
                # `make` or a script around it too: the shell waits for that one to stop.
                os.kill(0, signal.SIGSTOP)

    def on_resize(self) -> None:
        self.refresh()  # at the same size too: a terminal that was smaller for a moment cut the lines off

    async def on_event(self, event: Event) -> None:
        """Replace pasted control characters by signs, and line ends by plain ones, for every widget. The left
        button alone clicks: the others are the terminal's, whose menu or paste a person wants with them.

        Text typed on the first-run screen or among the messages is passed to the prompt from here: of keys
        read together, the later ones would act on these before the first one has led away.
        """
        if isinstance(event, MouseDown | MouseUp) and event.button > 1:
            return
        if isinstance(event, Key | Paste):
            if self._typed_ahead is not None:
                self._typed_ahead.append(event)
                return
            if isinstance(event, Key) and event.key.startswith("alt+") and event.key in self.active_bindings:
                event.character = None  # Textual gives the letter too, which a field would take
            if isinstance(event, Paste) or event.key != "ctrl+c":
                self._ctrl_c_at = float("-inf")  # the next one is a first one, for other text
            if isinstance(event, Paste):
                event.text = printable(event.text.replace("\r\n", "\n").replace("\r", "\n"))
            text = event.text if isinstance(event, Paste) else event.character if event.is_printable else None
            if text is not None and isinstance(self.screen, FirstRunScreen):
                self.screen.dismiss(None)
                self.chat.prompt.write(text)
                return
        if not (isinstance(event, Key) and self.chat.begins_prompt(event)):
            await super().on_event(event)

    async def on_key(self, event: Key) -> None:
        """Write letters into the field of a screen that opened meanwhile: of keys read together, those behind
        the one that opens it come here from the screen below, which has no use for them.
        """
        if event.is_printable:
            while not self.screen.is_mounted:
                await asyncio.sleep(0)
            if isinstance(field := self.screen.focused, Input):
                field.insert_text_at_cursor(event.character or "")
                event.prevent_default()

    async def on_prompt_ready(self) -> None:
        """Show what waited for the prompt: the chat to resume, notices, and text typed meanwhile."""
        resume = self.runner.run(f"/resume {self._resume}") if self._resume else self.saved.offer_last()
        self.run_worker(resume)
        if paused := self.pulls.paused:
            self.chat.view.note(paused_line(paused, self.keys))
        if not self.state.conversation.is_kept:
            self.chat.view.note(NOT_KEPT)
        for problem in self.config.problems:
            self.chat.view.note(problem, "warning")
        typed, self._typed_ahead = self._typed_ahead, None
        for event in typed or ():
            # Until Textual sets the terminal's mode, Enter arrives as a line feed.
            is_enter = isinstance(event, Key) and event.key == "ctrl+j"
            await self.on_event(Key("enter", "\r") if is_enter else event)

    async def on_unmount(self) -> None:
        self.pulls.end()
        self.state.save()
        self.chat.unsent_prompts.end()
        self.unsaved = await asyncio.to_thread(self.history.close) + len(self.chat.unsent_prompts.lost)
        self.leaving.end(self.unsaved)

    async def submit(self, text: str, *, at_once: bool = False) -> None:
        self.chat.prompt.past.add(text)
        self.chat.view.notices.clear_read(self)
        if text.startswith("/"):
            await self.runner.run(text)
        else:
            await self.chat.ask(text, at_once=at_once)

    async def on_command_chosen(self, message: messages.CommandChosen) -> None:
        self.runner.return_to_chat()
        if message.command.needs_value:
            self.chat.unsent_prompts.make_way()
            self.chat.prompt.begin(message.command.name)
        else:
            await self.action_command(message.command.name)

    def on_text_selected(self) -> None:
        """Copy a new mouse selection; a click or a moved scrollbar selects nothing new."""
        selections, self._selections = self._selections, self.screen.selections
        if self._selections is not selections and (text := self.screen.get_selected_text()):
            copy(self, text)

    def action_help(self) -> None:
        """Explain the part that has the focus; the second time, close the explanation."""
        if isinstance(self.screen, HelpScreen):
            self.screen.dismiss()
            return
        in_chat = self.screen is self.chat
        keys = described_keys(self, *[Transcript] if in_chat else [], empties_prompt=in_chat)
        self.push_screen(HelpScreen(about_focus(self), keys, commands=in_chat))

    def action_command_palette(self) -> None:
        if not any(isinstance(screen, Palette) for screen in self.screen_stack):  # the help may lie over it
            self.push_screen(Palette(id="--command-palette"))

    async def action_command(self, text: str) -> None:
        await self.runner.run(f"/{text}")

    async def action_quit(self) -> None:
        """Leave, after asking about downloads and messages that could not be saved."""
        if not self.leaving.says_yes():
            self.run_worker(self._leave_after_asking(), group="leave", exclusive=True)

    async def _leave_after_asking(self) -> None:
        if await self.leaving.agreed():
            self.exit()

    def action_help_quit(self) -> None:
        """Ctrl+C: the first empties the prompt and says how to leave, the second leaves."""
        if time.monotonic() - self._ctrl_c_at < CTRL_C_SECONDS:
            self.call_later(self.action_quit)
            return
        emptied = self.screen is self.chat and self.chat.unsent_prompts.stash()
        self._explain_leaving("Up brings the prompt back. " if emptied else "")

    def key_ctrl_c(self) -> None:
        """Close a dialog, on which the app's bindings do not work; it counts as the first Ctrl+C."""
        if self.screen.is_modal:
            self.screen.dismiss(None)
            self._explain_leaving()

    def _explain_leaving(self, kept: str = "") -> None:
        self._ctrl_c_at = time.monotonic()
        show_toast(self, f"{kept}Press Ctrl+C again to leave.", CTRL_C_SECONDS)

    def _pump(self) -> None:
        if self.chat.is_mounted and self.is_running:
            self.link.pump()

    def _watch(self) -> None:
        """Report changes of downloads and of saving in the chat."""
        if not (self.chat.is_mounted and self.is_running):
            return
        note, is_listed = self.chat.view.note, isinstance(self.screen, PairsScreen)
        for job in self.pulls.advance():
            note(outcome(job), "error" if job.state == "failed" else "info", seen=is_listed)
        while not self._news.empty():
            self.saved.report_saving(self._news.get())

    def _keep_theme(self, theme: str) -> None:
        try:
            write_setting(self.config.file, "theme", theme)
        except MachineFailed as error:
            self.chat.view.note(f"{theme} is used until you leave. {error}", "error")
        else:
            self.chat.view.note(f"{theme} is kept in {self.config.file}.")
