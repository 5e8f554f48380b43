"""All saved chats: search, resume, rename, archive, delete, export."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from functools import partial
from typing import Literal

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import Input, OptionList
from textual.widgets.option_list import Option

from app.history.records import ChatRow, now
from app.shell.errors import AppError
from app.shell.number_text import counted, day_group, when_text
from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.screens.question import LineQuestionScreen
from app.tui.widgets.field import Field
from app.tui.widgets.found_words import with_found
from app.tui.widgets.item_list import ItemList, column
from app.tui.widgets.message_line import MessageLine

FRAME = 8
"""Columns of border, padding and scrollbar."""
COUNT, PAIR, LONG_PAIR, WHEN = 4, 16, 28, 12
"""Columns of the number of messages, the pair and the time."""
WIDE, WIDER, WIDEST = 64, 100, 130
"""Widths of a row: from which all is shown, from which pairs have long names, and the most it has."""


class ChatList(ItemList):
    """Enter opens at once: a message about it would be read behind a `d` that was typed with it."""

    def __init__(self, choose: Callable[[], None]) -> None:
        super().__init__(markup=False)
        self._choose = choose

    def action_select(self) -> None:
        self._choose()


class SessionsScreen(OpenedScreen[ChatRow | None]):
    """Returns the chat to resume, with the message that a search found; or None."""

    AUTO_FOCUS = "OptionList"
    """Not the search: it would take a key right behind F6."""

    HELP = """\
All chats. A search ({sessions.search}) looks through titles and every message, on all branches; Enter opens \
the chat at the message that was found."""

    BINDINGS = [
        bind("enter", "choose", "Resume", "sessions.resume", "Go on with the chat"),
        # Priority, so that letters typed right after it go into the search.
        bind("slash", "search", "Search", "sessions.search",
             "Search the titles and all texts", priority=True),
        bind("r", "rename", "Rename", "sessions.rename", "Give the chat another title"),
        ARCHIVE := bind("a", "archive(True)", "Archive", "sessions.archive",
                        "Put the chat into the archive, or take it out"),
        replace(ARCHIVE, action="archive(False)", description="Unarchive"),
        bind("d,delete", "delete", "Delete", "sessions.delete", "Delete the chat"),
        bind("u", "undo", "Undo", "sessions.undo", "Bring the deleted chat back"),
        bind("e", "export('markdown')", "Export", "sessions.export", "Write the chat as Markdown"),
        bind("J", "export('json')", "", "sessions.export_json",
             "Write the chat as JSON, which can be imported"),
        SHOW := bind("v", "show_archived(True)", "Archived", "sessions.archived",
                     "Show the archived chats, or the others"),
        replace(SHOW, action="show_archived(False)", description="Chats"),
        bind("escape", "back", "Back", "sessions.back", "Empty the search; then leave"),
    ]  # fmt: skip

    def __init__(self, text: str = "") -> None:
        super().__init__()
        self._text = text
        self.rows: list[ChatRow] = []
        self._shown: tuple[str, bool] | None = None
        """The search and the archive that `rows` are of."""
        self.archived = False

    def parts(self) -> ComposeResult:
        yield Field(self._text, placeholder="Search all chats", id="sessions-search")
        yield ChatList(lambda: self._with_chosen(self.dismiss))
        yield MessageLine()

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        in_view = None if self.words else self.app.state.conversation.chat.id  # the best hit comes first
        self.run_worker(self._load(in_view), exclusive=True, group="load")

    def on_resize(self) -> None:
        if self._shown is not None:
            self._draw()

    def on_input_changed(self, event: Input.Changed) -> None:
        self.show_message("")
        self._text = event.value
        self.query_one(OptionList).highlighted = None  # the best hit comes first
        self.load()

    async def on_input_submitted(self, event: Input.Submitted) -> None:
        """The first Enter goes to the list, the second opens; both may come before the search is over."""
        options = self.query_one(OptionList)
        if self.focused is options:
            self._with_chosen(self.dismiss)
        else:
            self.set_focus(options)

    def applies(self, action: str) -> bool:
        return action != "undo" or bool(self.app.saved.deleted)

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "show_archived":
            return not self.words and parameters[0] is not self.archived  # a search finds both
        if action == "archive" and parameters[0] is (self.archived and not self.words):
            return False
        if action in ("rename", "archive", "delete", "export"):
            return bool(self.rows)
        return super().check_action(action, parameters)

    def action_rename(self) -> None:
        self._with_chosen(self._rename)

    def action_archive(self, _: bool) -> None:
        self._with_chosen(lambda row: self._do(partial(self.app.saved.archive, row.chat)))

    def action_delete(self) -> None:
        self._with_chosen(lambda row: self._do(partial(self.app.saved.delete, row.chat)))

    def action_undo(self) -> None:
        back = self.app.saved.deleted[-1].id if self.app.saved.deleted else None
        self._do(self.app.saved.undo, choose=back)

    def action_export(self, kind: Literal["markdown", "json"]) -> None:
        self._with_chosen(lambda row: self._do(partial(self.app.saved.export, row.chat, kind)))

    def action_show_archived(self, archived: bool) -> None:
        self.show_message("")
        self.archived = archived
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
        return self._text.split()

    @property
    def chosen(self) -> ChatRow | None:
        option = self.query_one(OptionList).highlighted_option
        return self._row(option.id) if option is not None else None

    def _row(self, chat_id: str | None) -> ChatRow | None:
        return next((row for row in self.rows if row.chat.id == chat_id), None)

    def _with_chosen(self, do: Callable[[ChatRow], object]) -> None:
        """Call `do` with the chosen chat: at once, or when the search for it is over."""

        def act() -> None:
            if (row := self.chosen) is not None and self.is_active:
                do(row)

        async def search() -> None:
            await self._load()
            act()

        if self._shown == (self._text, self.archived):
            act()
        else:
            self.run_worker(search(), group="do")

    def _rename(self, row: ChatRow) -> None:
        def rename(title: str | None) -> None:
            if title is not None:
                self._do(partial(self.app.saved.rename, row.chat, title))

        self.app.push_screen(LineQuestionScreen("The chat's title", row.chat.title), rename)

    def load(self) -> None:
        """Ask for the chats again; an answer that comes too late is dropped."""
        self.run_worker(self._load, exclusive=True, group="load")

    def _do(self, work: Callable[[], Awaitable[str]], *, choose: str | None = None) -> None:
        """Show what the work returns, then the chats; `choose`: the id of the one to choose among them."""

        async def do() -> None:
            self.show_message("")
            try:
                self.tell(await work())
            except AppError as error:
                self.tell(str(error))
            await self._load(choose)

        self.ask_once(do())

    async def _load(self, choose: str | None = None) -> None:
        asked = self._text, self.archived
        try:
            rows = await self.app.saved.rows(self._text, archived=self.archived)
        except AppError as error:
            self.show_message(str(error))
            return
        if asked != (self._text, self.archived):
            return  # too late: something else was asked for meanwhile
        # Search results are sorted best first, all chats by the time shown.
        self.rows = rows if self.words else sorted(rows, key=lambda row: row.chat.changed, reverse=True)
        self._shown = asked
        if not self.was_closed:
            self._draw(choose)

    def _draw(self, choose: str | None = None) -> None:
        options = self.query_one(OptionList)
        chosen, place = self._row(choose) or self.chosen, options.highlighted or 0
        width, time = min(self.app.size.width - FRAME, WIDEST), now()
        group, found = "", list[Option]()
        for row in self.rows:
            if not self.words and (heading := day_group(row.chat.changed, time)) != group:
                group = heading
                found.append(Option(Content.styled(heading, "$text-muted bold"), disabled=True))
            found.append(Option(_drawn(row, width, time, self.words), id=row.chat.id))
        what = "archived chat" if self.archived and not self.words else "chat"
        options.border_title = counted(len(self.rows), what)
        if not self.rows:
            nothing = "Nothing found." if self.words else f"No {what}s."
            found = [Option(Content.styled(nothing, "$text-muted"), disabled=True)]
        options.clear_options().add_options(found)  # one by one, thousands would take seconds
        if chosen is not None and self._row(chosen.chat.id) is not None:
            options.highlighted = options.get_option_index(chosen.chat.id)
        elif self.rows:
            options.highlighted = min(place, options.option_count - 1)
            if options.highlighted_option is None or options.highlighted_option.disabled:
                options.action_cursor_down()
        self.refresh_bindings()


def _drawn(row: ChatRow, width: int, time: float, words: list[str]) -> Content:
    """In columns: title, number of messages, pair, time; in a narrow terminal title and time."""
    facts = when = when_text(row.chat.changed, time)
    if width >= WIDE:
        pair = column(row.pair, LONG_PAIR if width >= WIDER else PAIR)
        facts = f"{row.messages:>{COUNT}}  {pair}{when:>{WHEN}}"
    title = f"{'▢ ' if row.chat.archived else ''}{one_line(row.chat.title) or '(no title)'}"
    room = max(10, width - cell_len(facts) - 2)
    line = with_found(Content.styled(title, "bold"), words).truncate(room, ellipsis=True, pad=True)
    parts = [Content.assemble(line, "  ", (facts, "$text-muted"))]
    if row.excerpt:
        parts.append(with_found(Content(f"  {one_line(row.excerpt)}"), words))
    return Content("\n").join(parts)
