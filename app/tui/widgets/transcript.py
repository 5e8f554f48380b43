"""The conversation, oldest at the top. Follows the end until the person scrolls away from it.

A long conversation has thousands of messages; widgets exist for the part around the view alone.
"""

from collections.abc import Callable, Sequence
from typing import ClassVar, Literal

from textual.binding import Binding, BindingType
from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.notifications import SeverityLevel
from textual.reactive import var
from textual.widget import Widget

from app.chat.chat_view import Kind
from app.shell.printable import printable
from app.tui.widgets.live_answer import LiveAnswer
from app.tui.widgets.message import Message
from app.tui.widgets.notice import Notice, shortened
from app.tui.widgets.welcome import Welcome

BATCH = 20
"""Messages made at once when the person comes to the end of what is there."""

KEPT = 80
"""Messages that have a widget at most, the answer in progress excepted."""

SEVERITIES: dict[Kind, SeverityLevel] = {"info": "information", "warning": "warning", "error": "error"}

NEAR = 4
"""Lines from the end of what is there at which more is made."""


class Entry:
    """One message or notice: how to make its widget, and the widget while there is one."""

    def __init__(self, make: Callable[[], Widget], message_id: str | None = None) -> None:
        self.make = make
        self.message_id = message_id
        """None for a notice."""
        self.widget: Widget | None = None


class Transcript(VerticalScroll, can_focus=True):
    """Holds one widget per message. A click does not take the focus: what is typed goes to the prompt."""

    FOCUS_ON_CLICK = False

    BLANK = True
    """Nothing but a background behind the messages."""

    virtual_size = var(Size(0, 0))
    """Textual would lay out and draw everything a second time whenever it grows; the scrollbar's coming and
    the scrolling ask for that themselves."""

    HELP = "The messages. Up and down choose one; the keys below are about the chosen one."

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up,k", "select(-1)", "Earlier", id="messages.up", show=False, tooltip="The message before"),
        Binding("down,j", "select(1)", "Later", id="messages.down", show=False, tooltip="The message after"),
        Binding("e", "app.command('edit')", "Edit", id="messages.edit",
                tooltip="Edit the prompt and ask again; the old branch is kept"),
        Binding("r", "app.command('regenerate')", "Again", id="messages.again",
                tooltip="Another answer with a new seed"),
        Binding("R", "app.command('regenerate same')", "Again, same seed", id="messages.again_same",
                show=False, tooltip="Another answer with the same seed"),
        Binding("c", "app.command('continue')", "Continue", id="messages.continue",
                tooltip="Continue a stopped answer"),
        Binding("y", "app.command('copy')", "Copy", id="messages.copy", tooltip="Copy the message"),
        Binding("b", "app.command('copy code')", "Code", id="messages.copy_code",
                tooltip="Copy a code block; again for the next one"),
        Binding("left,h", "app.command('branch before')", "branch", id="messages.branch_before",
                tooltip="The branch before this one"),
        Binding("right,l", "app.command('branch after')", "branch", id="messages.branch_after",
                tooltip="The branch after this one"),
        Binding("t", "app.command('think')", "Thoughts", id="messages.fold", show=False,
                tooltip="Show or fold what the model thought first"),
        Binding("escape", "screen.stop_or_back", "Stop / back", id="messages.stop",
                tooltip="Stop the answer that is being written; back to the prompt if there is none"),
        Binding("tab,enter,i", "screen.back_to_prompt", "Back", id="messages.back", show=False,
                tooltip="Back to the prompt"),
    ]  # fmt: skip

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children)
        self.entries: list[Entry] = []
        self.selected: Entry | None = None
        """The message that keys and commands are about; None: the last one."""
        self._first = self._last = 0
        self._moving = False

    def on_mount(self) -> None:
        self.anchor()

    def update_node_styles(self, animate: bool = True) -> None:
        """Nothing below depends on this container's focus; walking all messages for it costs seconds."""

    def _size_updated(
        self, size: Size, virtual_size: Size, container_size: Size, layout: bool = True
    ) -> bool:
        """The layout that moves the scrollbar also draws it; Textual would do so once more."""
        changed = super()._size_updated(size, virtual_size, container_size, layout)
        if changed:
            self.vertical_scrollbar._repaint_regions.clear()
        return changed

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        if new_value < old_value and new_value < NEAR:
            self._make_more("earlier")
        elif new_value > old_value and new_value > self.max_scroll_y - NEAR:
            self._make_more("later")

    def show(self, widget: Widget, message_id: str | None = None) -> Entry:
        """Append a widget; it is not made again, so a notice or the answer in progress."""
        return self.append(lambda: widget, message_id)

    def append(self, make: Callable[[], Widget], message_id: str | None = None) -> Entry:
        """Append a message."""
        if self._last < len(self.entries):
            self.follow()
        return self._add(make, message_id)

    def note(self, text: str, kind: Kind = "info") -> None:
        """Append a line from the program; who reads further up stays there and is told all the same."""
        text = shortened(text)
        self._add(lambda: Notice(text, kind))
        if self._anchor_released:
            self.app.clear_notifications()  # a pile of them would hide what is below; all are lines above
            self.notify(printable(text), severity=SEVERITIES[kind], markup=False)

    def fill(self, messages: Sequence[tuple[str, Callable[[], Widget]]]) -> None:
        """Show a whole conversation, from its end."""
        self.cut(0)
        self.entries = [Entry(make, message_id) for message_id, make in messages]
        self._first = self._last = 0
        self.follow()

    def cut(self, start: int) -> None:
        """Take out everything from a place on."""
        self.select_entry(None)
        removed = [entry.widget for entry in self.entries[start:] if entry.widget is not None]
        del self.entries[start:]
        self._first, self._last = min(self._first, start), min(self._last, start)
        if removed:
            self.remove_children(removed)
        self._show_beginning()

    def place_of(self, message_id: str) -> int:
        """Where a message stands; the end if it is not there."""
        places = (n for n, entry in enumerate(self.entries) if entry.message_id == message_id)
        return next(places, len(self.entries))

    def replace(self, message_id: str, make: Callable[[], Widget]) -> None:
        """Have another widget for a message."""
        entry = self.entries[self.place_of(message_id)]
        entry.make = make
        old, entry.widget = entry.widget, None
        if old is not None:
            self.mount(self._widget(entry), after=old)
            old.remove()
            if entry is self.selected:
                self.select_entry(entry)

    def follow(self) -> None:
        """Go to the end and stay there."""
        last = len(self.entries)
        if self._last < last or last - self._first > KEPT:
            self._set_window(max(0, last - BATCH), last, hold=False)
        self.anchor()

    def action_select(self, direction: int) -> None:
        """Choose the message before or after the chosen one; the last one if none is."""
        places = [n for n, entry in enumerate(self.entries) if entry.message_id is not None]
        if not places:
            return
        if self.selected is None or self.selected not in self.entries:
            place = places[-1]
        else:
            at = places.index(self.entries.index(self.selected)) + direction
            place = places[max(0, min(at, len(places) - 1))]
        self._make_around(place)
        self.select_entry(self.entries[place])

    def go_to(self, message_id: str, words: Sequence[str] = ()) -> None:
        """Choose a message and bring it into view, at the first line with one of the words, all marked."""
        place = self.place_of(message_id)
        self.release_anchor()
        self._make_around(place)
        self.select_entry(self.entries[place])
        if isinstance(widget := self.entries[place].widget, Message):
            widget.found = tuple(words)
        self.call_after_refresh(self._show_words, self.entries[place], words)

    def select_entry(self, entry: Entry | None) -> None:
        """Mark a message as the chosen one, or none."""
        for widget in self.query(".-selected"):
            widget.remove_class("-selected")
            if isinstance(widget, Message):
                widget.found = ()
        self.selected = entry
        if entry is not None and (widget := entry.widget) is not None:
            widget.add_class("-selected")
            self.call_after_refresh(self._show_widget, widget)

    def _show_widget(self, widget: Widget) -> None:
        if widget.is_mounted:
            self.scroll_to_widget(widget, animate=False, top=widget.size.height > self.size.height)

    def _show_words(self, entry: Entry, words: Sequence[str]) -> None:
        widget = entry.widget
        if widget is None or not widget.is_mounted or widget.size.height <= self.size.height:
            return
        wanted = [word.casefold() for word in words]
        for y, line in enumerate(widget.render_lines(widget.size.region)):
            if any(word in line.text.casefold() for word in wanted):
                top = widget.virtual_region.y + y - self.size.height // 2
                self.scroll_to(y=top, animate=False, force=True)
                return

    def _make_around(self, place: int) -> None:
        if not self._first <= place < self._last:
            self._set_window(max(0, place - BATCH), min(len(self.entries), place + BATCH), hold=False)

    def _add(self, make: Callable[[], Widget], message_id: str | None = None) -> Entry:
        """Put an entry at the end; its widget comes later where the end is not made."""
        entry = Entry(make, message_id)
        if self._last == len(self.entries):
            self.mount(self._widget(entry))
            self._last += 1
        self.entries.append(entry)
        return entry

    def _widget(self, entry: Entry) -> Widget:
        entry.widget = entry.make()
        return entry.widget

    def _make_more(self, side: Literal["earlier", "later"]) -> None:
        if self._moving:
            return
        first, last = self._first, self._last
        if side == "earlier" and first > 0:
            first = max(0, first - BATCH)
            self._set_window(first, min(last, first + KEPT))
        elif side == "later" and last < len(self.entries):
            last = min(len(self.entries), last + BATCH)
            self._set_window(max(first, last - KEPT), last)

    def _set_window(self, first: int, last: int, *, hold: bool = True) -> None:
        """Have widgets for these entries only; `hold`: what is in view stays where it is."""
        live = next((n for n, e in enumerate(self.entries) if isinstance(e.widget, LiveAnswer)), None)
        if live is not None:
            last = len(self.entries)  # the answer in progress grows; it is never made again
            first = min(first, live)
        held = self._in_view() if hold else None
        gone = [e for n, e in enumerate(self.entries) if e.widget and not first <= n < last]
        removed = [entry.widget for entry in gone if entry.widget]
        for entry in gone:
            entry.widget = None
        window = self.entries[first:last]
        kept = [entry for entry in window if entry.widget]
        missing = [entry for entry in window if not entry.widget]
        before = missing[: max(0, self._first - first)] if kept else []
        after = missing[len(before) :]
        self._first, self._last, self._moving = first, last, True
        self._show_beginning()
        if before:
            self.mount_all([self._widget(e) for e in before], before=kept[0].widget)
        if after:
            self.mount_all([self._widget(e) for e in after])
        if removed:
            self.remove_children(removed)
        self.call_after_refresh(self._moved, held)

    def _in_view(self) -> tuple[Widget, float] | None:
        """A widget in view, and how far below the top edge it begins."""
        for entry in self.entries[self._first : self._last]:
            widget = entry.widget
            if widget is not None and widget.is_mounted and widget.virtual_region.bottom > self.scroll_y:
                return widget, widget.virtual_region.y - self.scroll_y
        return None

    def _moved(self, held: tuple[Widget, float] | None) -> None:
        if held is not None and held[0].is_attached:
            self.scroll_to(y=held[0].virtual_region.y - held[1], animate=False, immediate=True, force=True)
        self._moving = False

    def _show_beginning(self) -> None:
        for welcome in self.query(Welcome):
            welcome.display = self._first == 0
