"""The conversation, oldest at the top. Follows the end until the person scrolls away from it.

A long conversation has thousands of messages; widgets exist for the part around the view alone.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.reactive import var
from textual.widget import Widget

from app.tui.keys.keymap import bind
from app.tui.program import Program
from app.tui.widgets.answer import Answer
from app.tui.widgets.message import Message
from app.tui.widgets.welcome import Welcome

BATCH = 20
"""Messages made at once when the person comes to the end of those that have widgets."""

KEPT = 80
"""Messages that have a widget at most, the answer in progress excepted."""

NEAR = 4
"""Lines from the first or last widget at which more are made."""

LAYOUT_TRIES, LAYOUT_SECONDS = 50, 0.02
"""How often and how far apart a message is looked for that has no place on the screen yet."""


@dataclass(eq=False, slots=True)
class Entry:
    """One message or notice: how to make its widget, and the widget while there is one."""

    make: Callable[[], Widget]
    message_id: str | None = None
    """None for a notice."""
    widget: Widget | None = None


class Transcript(VerticalScroll, can_focus=True):
    """Holds one widget per message. A click does not take the focus: what is typed goes to the prompt."""

    app: Program

    FOCUS_ON_CLICK = False
    BLANK = True

    virtual_size = var(Size(0, 0))
    """Without a layout of its own: Textual would lay out and draw everything twice whenever it grows."""

    HELP = "The messages. Up and down choose one; the keys below are about the chosen one."

    BINDINGS = [
        bind("up,k", "select(-1)", "", "messages.up", "The message before"),
        bind("down,j", "select(1)", "", "messages.down", "The message after"),
        bind("e", "app.command('edit')", "Edit", "messages.edit",
             "Edit the prompt and ask again; the old branch is kept"),
        bind("r", "app.command('regenerate')", "Again", "messages.again", "Another answer with a new seed"),
        bind("R", "app.command('regenerate same')", "", "messages.again_same",
             "Another answer with the same seed"),
        bind("c", "app.command('continue')", "Continue", "messages.continue", "Continue a stopped answer"),
        bind("y", "app.command('copy')", "Copy", "messages.copy", "Copy the message"),
        bind("b", "app.command('copy code')", "Code", "messages.copy_code",
             "Copy a code block; again for the next one"),
        bind("left,h", "app.command('branch before')", "branch", "messages.branch_before",
             "The branch before this one"),
        bind("right,l", "app.command('branch after')", "branch", "messages.branch_after",
             "The branch after this one"),
        bind("t", "app.command('think')", "", "messages.fold", "Show or fold what the model thought first"),
        bind("escape", "screen.stop_or_back", "Stop / back", "messages.stop",
             "Stop the answer that is being written; back to the prompt if there is none"),
        bind("tab,enter,i", "screen.back_to_prompt", "", "messages.back", "Back to the prompt"),
    ]  # fmt: skip

    def __init__(self, *children: Widget) -> None:
        super().__init__(*children)
        self.entries: list[Entry] = []
        self.selected: Entry | None = None
        """The message that keys and commands are about; None: the last one."""
        self._window = range(0)
        self._moving = False

    def on_mount(self) -> None:
        self._show_welcome()

    def update_node_styles(self, animate: bool = True) -> None:
        """Nothing below depends on this container's focus; walking all messages for it costs seconds."""

    def release_anchor(self) -> None:
        """Where everything is in view there is nothing to let go of.

        Textual keeps a short chat at the bottom by a place below 0: left there, what is laid out next would
        lie below the view, where nothing can scroll to.
        """
        if self.max_scroll_y > 0:
            super().release_anchor()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        first, last, count = self._window.start, self._window.stop, len(self.entries)
        if self._moving:
            return
        if new_value < old_value and new_value < NEAR and first > 0:
            first = max(0, first - BATCH)
            self._show(first, min(last, first + KEPT))
        elif new_value > old_value and new_value > self.max_scroll_y - NEAR and last < count:
            last = min(count, last + BATCH)
            self._show(max(first, last - KEPT), last)

    def append(self, make: Callable[[], Widget], message_id: str | None = None) -> None:
        if self._window.stop < len(self.entries):
            self.follow()
        self._add(Entry(make, message_id))

    def fill(self, messages: Sequence[tuple[str, Callable[[], Widget]]]) -> None:
        self.cut(0)
        self.entries = [Entry(make, message_id) for message_id, make in messages]
        self.follow()

    def cut(self, start: int) -> None:
        self.select_entry(None)
        removed = [entry.widget for entry in self.entries[start:] if entry.widget]
        del self.entries[start:]
        self._window = range(min(self._window.start, start), min(self._window.stop, start))
        self.remove_children(removed)
        self._show_welcome()

    def place_of(self, message_id: str) -> int:
        """The place of a message's entry; the end if it is not there."""
        places = (n for n, entry in enumerate(self.entries) if entry.message_id == message_id)
        return next(places, len(self.entries))

    def remake(self, message_id: str, make: Callable[[], Widget]) -> None:
        """Make its widget this way from now on; the one there is stays."""
        self.entries[self.place_of(message_id)].make = make

    def replace(self, message_id: str, make: Callable[[], Widget]) -> None:
        self.remake(message_id, make)
        entry = self.entries[self.place_of(message_id)]
        if (old := entry.widget) is not None:
            entry.widget = make()
            self.mount(entry.widget, after=old)
            old.remove()
            if entry is self.selected:
                self.select_entry(entry)

    def follow(self) -> None:
        last = len(self.entries)
        if self._window.stop < last or len(self._window) > KEPT:
            self._show(max(0, last - BATCH), last, hold=False)
        if self.entries:
            self.anchor()

    def action_select(self, direction: int) -> None:
        messages = [entry for entry in self.entries if entry.message_id is not None]
        if not messages:
            return
        place = len(messages) - 1
        if self.selected in messages:
            place = max(0, min(messages.index(self.selected) + direction, place))
        self._choose(messages[place])

    def go_to(self, message_id: str, words: Sequence[str] = ()) -> None:
        """Choose a message and bring it into view, at the first line with one of the words, all marked."""
        entry = self.entries[self.place_of(message_id)]
        self.release_anchor()
        self._choose(entry)
        if isinstance(entry.widget, Message):
            entry.widget.found = tuple(words)
            self._soon(partial(self._show_words, words), entry.widget)

    def select_entry(self, entry: Entry | None) -> None:
        for widget in self.query(".-selected"):
            widget.remove_class("-selected")
            if isinstance(widget, Message):
                widget.found = ()
        self.selected = entry
        self.screen.refresh_bindings()  # what the keys can do depends on it
        if entry is not None and entry.widget is not None:
            entry.widget.add_class("-selected")
            self._soon(self._show_widget, entry.widget)

    def _choose(self, entry: Entry) -> None:
        place = self.entries.index(entry)
        if place not in self._window:
            self._show(max(0, place - BATCH), min(len(self.entries), place + BATCH), hold=False)
        self.select_entry(entry)

    def _soon(self, show: Callable[[Widget], bool], widget: Widget, tries: int = LAYOUT_TRIES) -> None:
        """Show the chosen widget after a refresh, or a later one: a new one has no place yet, and one out of
        view no size."""

        def attempt() -> None:
            chosen = self.selected is not None and self.selected.widget is widget
            if chosen and tries and not show(widget):
                self.set_timer(LAYOUT_SECONDS, partial(self._soon, show, widget, tries - 1))

        self.call_after_refresh(attempt)

    def _show_widget(self, widget: Widget) -> bool:
        height = widget.virtual_region.height if widget.is_mounted else 0
        if height:
            self.scroll_to_widget(widget, animate=False, top=height > self.size.height)
        return bool(height)

    def _show_words(self, words: Sequence[str], widget: Widget) -> bool:
        if widget.size.height > self.size.height:
            wanted = [word.casefold() for word in words]
            lines = enumerate(widget.render_lines(widget.size.region))
            found = (y for y, line in lines if any(word in line.text.casefold() for word in wanted))
            top = widget.virtual_region.y + next(found, 0) - self.size.height // 2
            self.scroll_to(y=top, animate=False, force=True)
        return bool(widget.size.height)

    def _add(self, entry: Entry) -> None:
        """Put an entry at the end; its widget comes later where the end has no widgets."""
        self.entries.append(entry)
        self._show_welcome()
        if self._window.stop == len(self.entries) - 1:
            self._window = range(self._window.start, len(self.entries))
            self.mount(*self._made([entry]))

    def _show_welcome(self) -> None:
        """In the middle of an empty conversation, and nowhere else."""
        is_empty = not self.entries
        self.styles.align = ("center", "middle") if is_empty else ("left", "top")
        if is_empty == self.is_anchored:
            self.anchor(not is_empty)  # what is anchored stands at the bottom
            if is_empty:
                self.scroll_to(y=0, animate=False, immediate=True, force=True)
        for welcome in self.query(Welcome):
            welcome.display = is_empty

    def _made(self, entries: Sequence[Entry]) -> list[Widget]:
        widgets = [entry.make() for entry in entries]
        for entry, widget in zip(entries, widgets, strict=True):
            entry.widget = widget
        return widgets

    def _show(self, first: int, last: int, *, hold: bool = True) -> None:
        """Have widgets for these entries only; `hold`: what is in view stays where it is."""
        live = next(
            (n for n, e in enumerate(self.entries) if isinstance(e.widget, Answer) and e.widget.growing), None
        )
        if live is not None:
            first, last = min(first, live), len(self.entries)  # it grows; it is never made again
        held = self._in_view() if hold else None
        window = self.entries[first:last]
        kept = [entry for entry in window if entry.widget]
        removed = [entry for entry in self.entries if entry.widget and entry not in window]
        self.remove_children([entry.widget for entry in removed if entry.widget])
        for entry in removed:
            entry.widget = None
        if kept:
            self.mount_all(self._made(window[: window.index(kept[0])]), before=kept[0].widget)
        self.mount_all(self._made([entry for entry in window if not entry.widget]))
        self._window, self._moving = range(first, last), True
        self._show_welcome()
        self.call_after_refresh(self._moved, held)

    def _in_view(self) -> tuple[Widget, float] | None:
        for entry in self.entries[self._window.start : self._window.stop]:
            widget = entry.widget
            if widget is not None and widget.is_mounted and widget.virtual_region.bottom > self.scroll_y:
                return widget, widget.virtual_region.y - self.scroll_y
        return None

    def _moved(self, held: tuple[Widget, float] | None) -> None:
        if held is not None and held[0].is_attached:
            self.scroll_to(y=held[0].virtual_region.y - held[1], animate=False, immediate=True, force=True)
        self._moving = False
