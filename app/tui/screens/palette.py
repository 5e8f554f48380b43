"""The `/` commands in the command palette, found by name or by summary."""

from collections.abc import Callable
from functools import partial

from rich.text import Text
from textual.app import ComposeResult
from textual.command import CommandList, CommandPalette, DiscoveryHit, Hit, Hits, Provider
from textual.events import Mount
from textual.markup import escape
from textual.theme import ThemeProvider
from textual.widgets import Button, Input

from app.chat.slash_commands import SLASH_COMMANDS, SlashCommand
from app.tui.keys.keymap import bind
from app.tui.messages import CommandChosen
from app.tui.screens.opened import OpenedScreen
from app.tui.theme import OWN_THEMES
from app.tui.widgets.item_list import SafeList
from app.tui.widgets.key_line import KeyLine

PALETTE_HELP = "Type some letters of one; up and down choose, Enter takes it."

OWN_NAMES = [theme.name for theme in OWN_THEMES]

IN_SUMMARY = 0.1
"""The score of a command whose summary matches, but not its name."""


class SafeCommandList(CommandList, SafeList, can_focus=False):
    """Textual's list of commands."""


class Palette(CommandPalette, OpenedScreen[None]):  # pyright: ignore[reportIncompatibleMethodOverride]
    """Textual's palette, limited to running one command and closing once."""

    HELP = f"All commands. {PALETTE_HELP}"

    BINDINGS = [bind("escape", "escape", "Close", "palette.close", "Close this list")]

    def compose(self) -> ComposeResult:
        for part in super().compose():
            yield SafeCommandList() if isinstance(part, CommandList) else part
        yield KeyLine(self.applies)

    def on_mount(self, event: Mount) -> None:
        if len(self.app.screen_stack) < 2:  # closed already: Textual 8.2.8 looks for the screen below
            event.prevent_default()
        self.app.theme_changed_signal.subscribe(self, lambda _: self._take_colours())

    def on_unmount(self) -> None:
        self.app.theme_changed_signal.unsubscribe(self)  # it would keep this screen in memory

    def _take_colours(self) -> None:
        """Apply a newly chosen theme, which Textual 8.2.8 does not do for the open palette."""
        self.app.stylesheet.update(self)
        self._gather_commands(self.query_one(Input).value)

    def _select_or_command(self, event: Input.Submitted | Button.Pressed | None = None) -> None:
        if not self.was_closed:
            super()._select_or_command(event)


class ThemePalette(Palette):
    HELP = f"All themes. {PALETTE_HELP}"

    def __init__(self) -> None:
        super().__init__([OwnThemesFirst], placeholder="Search for themes…")


class OwnThemesFirst(ThemeProvider):
    @property
    def commands(self) -> list[tuple[str, Callable[[], None]]]:
        return sorted(super().commands, key=lambda command: command[0] not in OWN_NAMES)

    async def discover(self) -> Hits:
        for name, choose in self.commands:
            yield DiscoveryHit(name, choose, help="in use" if name == self.app.theme else None)


class SlashCommandProvider(Provider):
    """Usages are shown as plain text: `[all|FILE]` is no markup."""

    async def discover(self) -> Hits:
        for command in SLASH_COMMANDS:
            yield DiscoveryHit(*self._shown(command))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for command in SLASH_COMMANDS:
            in_summary = IN_SUMMARY if query.lower() in command.summary.lower() else 0
            if score := max(matcher.match(command.usage), in_summary):
                yield Hit(score, *self._shown(command))

    def _shown(self, command: SlashCommand) -> tuple[Text, partial[bool], str, str]:
        choose = partial(self.app.post_message, CommandChosen(command))
        return Text(command.usage), choose, command.usage, escape(command.summary)
