"""Fields of text whose editing keys act in the order in which they were pressed."""

from textual.events import Key, Paste
from textual.widget import Widget
from textual.widgets import Input, OptionList

from app.shell.printable import one_line

JOINERS = ("\u200c", "\u200d")
"""Part of emoji and of words, though Python counts them as unprintable."""


async def act_in_order(field: Widget, event: Key) -> None:
    """Run the action of one of a field's own keys, if this is one.

    Textual passes keys that are no characters up to the app, which runs their actions behind characters that
    were typed later: of keys that come together, as over SSH, Backspace deletes the wrong one.
    """
    if event.is_printable or not field.is_attached:
        return
    active = field.screen.active_bindings.get(event.key)
    if active and active.node is field and await field.app.run_action(active.binding.action, field):
        event.stop()
        event.prevent_default()


class Field(Input):
    def on_mount(self) -> None:
        # Textual shows the beginning of a text that is longer, and the cursor is at its end.
        self.call_after_refresh(lambda: self.scroll_to(x=self.max_scroll_x, animate=False, force=True))

    def on_paste(self, event: Paste) -> None:
        """Textual would take the first line alone."""
        event.text = one_line(event.text.strip("\n"))

    async def on_key(self, event: Key) -> None:
        if event.character in JOINERS:
            self.insert_text_at_cursor(event.character)
            event.stop()
        elif event.key == "down":
            for found in self.screen.query(OptionList):  # of a search; dialogs have none
                self.screen.set_focus(found)
        else:
            await act_in_order(self, event)
