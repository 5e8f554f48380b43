"""All saved chats: find one, go on with it, put it in order."""

from collections.abc import Awaitable
from typing import ClassVar, Literal

from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.chat.saved_chats import SavedChats
from app.history.records import Chat, ChatRow, now
from app.shell.errors import AppError
from app.shell.number_text import ago, counted
from app.shell.printable import one_line
from app.tui.keys.in_force import Keys
from app.tui.screens.line_question import LineQuestionScreen
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.found_words import with_found
from app.tui.widgets.item_list import ItemList
from app.tui.widgets.key_line import KeyLine

FRAME = 8
"""Columns of border, padding and scrollbar."""


class SessionsScreen(OpenedScreen[ChatRow | None]):
    """Gives the chat to go on with, with the message that a search found; or None."""

    HELP = """\
All chats. A search ({sessions.search}) looks through titles and every message, on all branches; Enter opens \
the chat at the message that was found."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("enter", "resume", "Resume", id="sessions.resume", tooltip="Go on with the chat"),
        # A priority, so that letters typed right behind it are in the search.
        Binding("/", "search", "Search", id="sessions.search", priority=True,
                tooltip="Search the titles and all texts"),
        Binding("r", "rename", "Rename", id="sessions.rename", tooltip="Give the chat another title"),
        Binding("a", "archive", "Archive", id="sessions.archive",
                tooltip="Put the chat into the archive, or take it out"),
        Binding("d,delete", "delete", "Delete", id="sessions.delete", tooltip="Delete the chat"),
        Binding("u,ctrl+z", "undo", "Undo", id="sessions.undo", tooltip="Bring the deleted chat back"),
        Binding("e", "export('markdown')", "Export", id="sessions.export",
                tooltip="Write the chat as Markdown"),
        Binding("J", "export('json')", "JSON", id="sessions.export_json", show=False,
                tooltip="Write the chat as JSON, which can be imported"),
        Binding("v", "show_archived", "Archived", id="sessions.archived",
                tooltip="Show the archived chats, or the others"),
        Binding("escape", "back", "Back", id="sessions.back", tooltip="Empty the search; then leave"),
    ]  # fmt: skip

    def __init__(self, saved: SavedChats, keys: Keys, text: str = "") -> None:
        """`text` is what is searched for at first."""
        super().__init__()
        self._saved = saved
        self._keys = keys
        self._text = text
        self.rows: list[ChatRow] = []
        self._is_loaded = False
        self._deleting = ""
        """Id of the chat that is deleted and still in the list."""
        self.archived = False

    def compose(self) -> ComposeResult:
        yield Input(self._text, placeholder="Search all chats", id="sessions-search")
        yield ItemList(markup=False)
        yield Static(id="sessions-line")
        yield KeyLine()

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self.load()

    def on_resize(self) -> None:
        if self._is_loaded:
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.show_message("")
        self._text = event.value
        self.load()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        self.query_one(OptionList).focus()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(self.rows[event.option_index])

    def action_resume(self) -> None:
        self.query_one(OptionList).action_select()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        return action != "search" or not isinstance(self.focused, Input)

    def action_search(self) -> None:
        self.set_focus(self.query_one(Input))

    def action_rename(self) -> None:
        if (chat := self.chosen) is not None and self.is_active:  # the key twice in one read asks once

            def take(title: str | None) -> None:
                if title is not None:
                    title = one_line(title)
                    self._do(self._saved.rename(chat, title), f"The chat is now '{title}'.")

            self.app.push_screen(LineQuestionScreen("The chat's title", chat.title), take)

    def action_archive(self) -> None:
        if (chat := self.chosen) is not None:
            there = self._keys.fill_in("in the archive ({sessions.archived} shows it)")
            place = "out of the archive" if chat.archived else there
            self._do(self._saved.archive(chat), f"'{chat.title}' is {place}.")

    def action_delete(self) -> None:
        if (chat := self.chosen) is not None and chat.id != self._deleting:  # the key twice in one read
            self._deleting = chat.id
            self._do(
                self._saved.delete(chat),
                f"Deleted '{chat.title}'. {self._keys.name('sessions.undo')} brings it back.",
            )

    def action_undo(self) -> None:
        self._do(self._saved.undo(), "The deleted chat is back.")

    def action_export(self, kind: Literal["markdown", "json"]) -> None:
        if (chat := self.chosen) is not None:

            async def export() -> None:
                path = await self._saved.export(chat, kind)
                self.show_message(f"Written to {path}.")

            self._do(export())

    def action_show_archived(self) -> None:
        self.archived = not self.archived
        self.load()

    def action_back(self) -> None:
        search = self.query_one(Input)
        if search.value or search.has_focus:
            search.value = ""
            self.query_one(OptionList).focus()
        else:
            self.dismiss(None)

    @property
    def words(self) -> list[str]:
        """The words of the search."""
        return self._text.split()

    @property
    def chosen(self) -> Chat | None:
        place = self.query_one(OptionList).highlighted
        return None if place is None else self.rows[place].chat

    def load(self) -> None:
        """Ask for the chats again; an answer that comes too late is dropped."""
        self.run_worker(self._load, exclusive=True, group="load")

    def show_message(self, text: str) -> None:
        """Say it in the line below the list, unless the screen was closed meanwhile."""
        if not self.was_closed:
            self.query_one("#sessions-line", Static).update(Content(one_line(text)))

    def _do(self, work: Awaitable[object], done: str = "") -> None:
        self.show_message("")

        async def do() -> None:
            try:
                await work
                if done:
                    self.show_message(done)
            except AppError as error:
                self.show_message(str(error))
            await self._load()
            self._deleting = ""

        self.run_worker(do(), group="do")

    async def _load(self) -> None:
        try:
            self.rows = await self._saved.rows(self._text, archived=self.archived)
        except AppError as error:
            self.show_message(str(error))
            return
        self._is_loaded = True
        if not self.was_closed:
            self._draw()

    def _draw(self) -> None:
        options = self.query_one(OptionList)
        place = options.highlighted or 0
        width, time = self.app.size.width - FRAME, now()
        options.clear_options()
        options.add_options(Option(_drawn(row, width, time, self.words)) for row in self.rows)
        options.highlighted = min(place, len(self.rows) - 1) if self.rows else None
        what = "archived chat" if self.archived and not self._text.strip() else "chat"
        options.border_title = counted(len(self.rows), what)
        if not self.rows:
            nothing = "Nothing found." if self._text.strip() else f"No {what}s yet."
            options.add_option(Option(Content.styled(nothing, "dim"), disabled=True))


def _drawn(row: ChatRow, width: int, time: float, words: list[str]) -> Content:
    when = ago(row.chat.changed, time)
    facts = f"{counted(row.messages, 'message')} · {one_line(row.pair)} · {when}" if width >= 70 else when
    if row.chat.archived:
        facts = f"archived · {facts}"
    title = one_line(row.chat.title) or "(no title)"
    line = with_found(Content.styled(title, "bold"), words)
    line = line.truncate(max(10, width - len(facts) - 2), ellipsis=True)
    parts = [Content.assemble(line, "  ", (facts, "dim"))]
    if row.excerpt:
        parts.append(with_found(Content(f"  {one_line(row.excerpt)}"), words))
    return Content("\n").join(parts)
