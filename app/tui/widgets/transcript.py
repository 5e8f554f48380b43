"""The conversation, oldest at the top. Follows the end until the person scrolls away from it.

A long conversation has thousands of messages; only those around the view have widgets.
"""

import os
from collections.abc import Callable, Sequence
from functools import partial

from textual.containers import VerticalScroll
from textual.geometry import Size
from textual.reactive import var
from textual.scrollbar import ScrollTo

from app.tui.keys.keymap import bind
from app.tui.program import Program
from app.tui.widgets.answer import Answer
from app.tui.widgets.later import later
from app.tui.widgets.message import Message
from app.tui.widgets.welcome import Welcome

BATCH = 20
"""Widgets made at once when the person scrolls to the first or last one."""

KEPT = 80
"""Most messages with a widget after scrolling, unless the answer in progress is far from the view."""

NEAR = 4
"""Lines from the first or last widget at which more are made."""

LAYOUT_SECONDS = 0.02
"""Time between attempts to scroll to a message that is not laid out yet."""

_bind = partial(bind, priority=True)
"""Else letters that are typed right after a key would not go where it leads."""


class Transcript(VerticalScroll, can_focus=True):
    """Holds the messages' widgets. A click does not take the focus: typed text goes to the prompt."""

    app: Program

    FOCUS_ON_CLICK = False
    BLANK = True

    virtual_size = var(Size(0, 0))
    """Not `layout=True` as in Textual, which would lay out and draw everything twice on each growth."""

    HELP = "The messages. Up and down choose one; the keys below are about the chosen one."

    BINDINGS = [
        _bind("up,k", "select(-1)", "", "messages.up", "The message before"),
        _bind("down,j", "select(1)", "", "messages.down", "The message after"),
        _bind("home", "select(-1_000_000)", "", "messages.first", "The first message"),
        _bind("end", "select(1_000_000)", "", "messages.last", "The last message"),
        _bind("e", "app.command('edit')", "Edit", "messages.edit",
              "Edit the prompt and send it again; the old branch is kept"),
        _bind("r", "app.command('regenerate')", "Again", "messages.again", "Another answer with a new seed"),
        _bind("R", "app.command('regenerate same')", "", "messages.again_same",
              "Another answer with the same seed"),
        _bind("c", "app.command('continue')", "Continue", "messages.continue", "Continue a stopped answer"),
        _bind("y", "app.command('copy')", "Copy", "messages.copy", "Copy the message"),
        _bind("b", "app.command('copy code')", "Code", "messages.copy_code",
              "Copy a code block; again for the next one"),
        _bind("left,h", "app.command('branch before')", "branch", "messages.branch_before",
              "The branch before this one"),
        _bind("right,l", "app.command('branch after')", "branch", "messages.branch_after",
              "The branch after this one"),
        _bind("t", "app.command('thoughts')", "", "messages.fold",
              "Show or fold what the model thought first"),
        _bind("escape", "screen.leave_messages", "Back", "messages.stop",
              "Back to the prompt, unless an answer is being written"),
        _bind("tab,shift+tab,enter,i", "screen.back_to_prompt", "", "messages.back",
              "Back to the prompt, as characters that are none of these keys"),
    ]  # fmt: skip

    make: Callable[[str], Message]
    """Makes the widget of a message id. Must be set before the first message."""

    def __init__(self) -> None:
        self.welcome = Welcome()
        super().__init__(self.welcome)
        self.widgets: dict[str, Message] = {}
        """By message id; only those that exist."""
        self.selected: str | None = None
        """Id of the message that keys and commands act on; None: the last one."""
        self._ids: list[str] = []
        self._window = range(0)
        self._moving = False
        self._size_before = Size(0, 0)
        self._sees_selected = False
        """Whether the chosen message was in view after the last scrolling."""
        self._top: tuple[Message, float] | None = None
        """The first message in view, and its place there; None while the end is in view."""
        self._held: tuple[tuple[Message, float] | None, bool] | None = None
        """These two at the last resize; None if the end was followed since then."""

    def on_mount(self) -> None:
        self._show_welcome()

    def on_resize(self) -> None:
        """Keep what is in view: at another width, the messages above it have other heights."""
        if self._size_before != self.size:
            self._size_before = self.size
            self._held = self._top, self._sees_selected
            self.call_after_refresh(self._stay)

    def update_node_styles(self, animate: bool = True) -> None:
        """Does nothing: no child's style depends on this focus, and visiting all messages costs seconds."""

    def release_anchor(self) -> None:
        """Does nothing while everything is in view.

        Textual keeps a short chat at the bottom with a negative scroll position: released there, the next
        layout would put messages below the view, out of reach of scrolling.
        """
        if self.max_scroll_y > 0:
            super().release_anchor()

    def on_scroll_to(self, event: ScrollTo) -> None:
        """Follow the end again when the bar is drawn to it, which growing text moves away meanwhile."""
        if event.y is not None and event.y >= self.max_scroll_y:
            event.prevent_default()
            self.follow()

    def watch_scroll_y(self, old_value: float, new_value: float) -> None:
        super().watch_scroll_y(old_value, new_value)
        first, last, count = self._window.start, self._window.stop, len(self._ids)
        if self._moving:
            return
        if self._size_before == self.size:
            top = None if self.is_vertical_scroll_end else self._in_view()
            self._top = top and (top[0], top[0].place_at(top[1]))
            self._sees_selected = self._shows(self._selected_widget)
        if new_value < old_value and new_value < NEAR and first > 0:
            first = max(0, first - BATCH)
            self._show(first, min(last, first + KEPT))
        elif new_value > old_value and new_value > self.max_scroll_y - NEAR and last < count:
            last = min(count, last + BATCH)
            self._show(max(first, last - KEPT), last)

    def renew(self, message_id: str) -> None:
        """Give a message that is shown a new widget."""
        if (old := self.widgets.get(message_id)) is not None:
            (new,) = self._made([message_id])
            new.set_class(message_id == self.selected, "-selected")
            self.mount(new, after=old)
            old.remove()

    def fill(self, message_ids: Sequence[str]) -> None:
        """Show these messages and follow the last one; those at the beginning that are shown already stay."""
        same = len(os.path.commonprefix([self._ids, [*message_ids]]))
        if same < len(self._ids):
            self._cut(same)
        self._ids = [*message_ids]
        if self._window and self._window.stop == same:
            self._show(self._window.start, len(self._ids), hold=False)
        self.follow()
        self.screen.refresh_bindings()  # what the keys can do depends on the messages

    def follow(self) -> None:
        last = len(self._ids)
        if self._window.stop < last or len(self._window) > KEPT:
            self._show(max(0, last - BATCH), last, hold=False)
        if self._ids:
            self._top = self._held = None
            self.anchor()

    def action_select(self, direction: int) -> None:
        if self._ids:
            place = len(self._ids) - 1
            if self.selected in self._ids:
                place = max(0, min(self._ids.index(self.selected) + direction, place))
            if place < len(self._ids) - 1:
                self.release_anchor()  # following the end would take it out of view
            self._choose(self._ids[place])

    def go_to(self, message_id: str, words: Sequence[str] = ()) -> None:
        """Choose a message, mark the words in it, and scroll to the first line that has one of them."""
        self.release_anchor()
        self._choose(message_id)
        self.widgets[message_id].found = tuple(words)

    def select(self, message_id: str | None) -> None:
        for widget in self.query(".-selected").results(Message):
            widget.remove_class("-selected")
            widget.found = ()
        self.selected = message_id
        self.screen.refresh_bindings()  # what the keys can do depends on it
        if (chosen := self._selected_widget) is not None:
            chosen.add_class("-selected")
            self._sees_selected = True
            self._soon(chosen)

    @property
    def _selected_widget(self) -> Message | None:
        return None if self.selected is None else self.widgets.get(self.selected)

    def _cut(self, start: int) -> None:
        self.select(None)
        removed = [self.widgets.pop(one) for one in self._ids[start:] if one in self.widgets]
        del self._ids[start:]
        self._window = range(min(self._window.start, start), min(self._window.stop, start))
        self.remove_children(removed)
        self._show_welcome()

    def _choose(self, message_id: str) -> None:
        place = self._ids.index(message_id)
        if place not in self._window:
            self._show(max(0, place - BATCH), min(len(self._ids), place + BATCH), hold=False)
        self.select(message_id)

    def _soon(self, widget: Message) -> None:
        """Scroll to the chosen widget after a refresh, once it is laid out."""

        def attempt() -> None:
            if self._selected_widget is not widget:
                return
            if not widget.is_mounted or not (height := widget.virtual_region.height):
                later(self, LAYOUT_SECONDS, attempt)
            elif widget.found and height > self.size.height:
                top = widget.virtual_region.y + widget.first_found() - self.size.height // 2
                self.scroll_to(y=top, animate=False, force=True)
            else:
                self.scroll_to_widget(widget, animate=False, top=height > self.size.height)

        self.call_after_refresh(attempt)

    def _show_welcome(self) -> None:
        """Show the welcome, in the middle, if the conversation is empty; else hide it."""
        is_empty = not self._ids
        self.can_focus = not is_empty  # its keys would swallow what is typed
        self.styles.align = ("center", "middle") if is_empty else ("left", "top")
        if is_empty == self.is_anchored:
            self.anchor(not is_empty)  # anchored content is at the bottom
            if is_empty:
                self.scroll_to(y=0, animate=False, immediate=True, force=True)
        self.welcome.display = is_empty

    def _made(self, message_ids: Sequence[str]) -> list[Message]:
        made = {message_id: self.make(message_id) for message_id in message_ids}
        self.widgets |= made
        return [*made.values()]

    def _show(self, first: int, last: int, *, hold: bool = True) -> None:
        """Keep widgets for these messages only; `hold`: what is in view does not move."""
        growing = (one for one, w in self.widgets.items() if isinstance(w, Answer) and w.growing)
        for live in growing:
            first, last = min(first, self._ids.index(live)), len(self._ids)  # its widget is never remade
        held = self._in_view() if hold else None
        window = self._ids[first:last]
        kept = [one for one in window if one in self.widgets]
        removed = self.widgets.keys() - set(window)
        self.remove_children([self.widgets.pop(one) for one in removed])
        if kept:
            self.mount_all(self._made(window[: window.index(kept[0])]), before=self.widgets[kept[0]])
        self.mount_all(self._made([one for one in window if one not in self.widgets]))
        self._window, self._moving = range(first, last), True
        self._show_welcome()
        self.call_after_refresh(self._moved, held)

    def _in_view(self) -> tuple[Message, float] | None:
        """The first message in view, and how many of its lines are above the view."""
        for one in self._ids[self._window.start : self._window.stop]:
            widget = self.widgets.get(one)
            if widget is not None and widget.is_mounted and widget.virtual_region.bottom > self.scroll_y:
                return widget, self.scroll_y - widget.virtual_region.y
        return None

    def _shows(self, widget: Message | None) -> bool:
        """Whether a part of the widget is in view."""
        if widget is None or not widget.is_mounted:
            return False
        region = widget.virtual_region
        return region.bottom > self.scroll_y and region.y < self.scroll_y + self.size.height

    def _moved(self, held: tuple[Message, float] | None) -> None:
        if held is not None and held[0].is_attached:
            y = held[0].virtual_region.y + held[1]
            self.scroll_to(y=y, animate=False, immediate=True, force=True)
        self._moving = False

    def _stay(self) -> None:
        if self._held is None:
            return
        top, sees_selected = self._held
        self._moved(top and (top[0], top[0].line_at(top[1])))
        self._top, self._sees_selected = top, sees_selected
        if sees_selected and (chosen := self._selected_widget) is not None:
            if chosen.virtual_region.height <= self.size.height or not self._shows(chosen):
                self._soon(chosen)
