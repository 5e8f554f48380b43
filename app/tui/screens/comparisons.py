"""The saved comparisons: show one again, export it, delete it."""

from textual.app import ComposeResult
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from app.compare import store
from app.compare.record import Record
from app.compare.words import circumstances, sentence
from app.shell.errors import AppError
from app.shell.number_text import counted
from app.shell.printable import one_line, printable
from app.tui.keys.keymap import bind
from app.tui.screens.compare import CompareScreen
from app.tui.screens.opened import OpenedScreen
from app.tui.screens.question import ask
from app.tui.widgets.item_list import ItemList


class ComparisonsScreen(OpenedScreen[None]):
    """Lists the saved comparisons, newest first."""

    HELP = "The comparisons and sweeps that were kept. Enter shows one again."

    BINDINGS = [
        bind("enter", "choose", "Show", "comparisons.show",
             "Show the chosen comparison, which can be exported there"),
        bind("escape,q", "dismiss", "Back", "comparisons.close", "Back to the chat"),
        bind("d,delete", "delete", "Delete", "comparisons.delete", "Delete the chosen comparison"),
    ]  # fmt: skip

    records: tuple[Record, ...] = ()

    def parts(self) -> ComposeResult:
        yield Static(id="comparisons-title")
        yield ItemList(markup=False, id="comparisons")
        yield Static(id="comparison-summary")

    def on_mount(self) -> None:
        self.query_one(OptionList).focus()
        self._read()

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        record = self.records[event.option_index]
        # A row has room for the beginning of a prompt at most, and a long prompt leaves none for more.
        summary = f"{printable(sentence(record))}\n{_what(record)}\n{one_line(circumstances(record))}"
        self.query_one("#comparison-summary", Static).update(Content(summary))

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        if not self.asks and self.is_active:  # false for a second Enter in one read
            self.app.push_screen(CompareScreen(record=self.records[event.option_index]))

    def applies(self, action: str) -> bool:
        return action != "delete" or bool(self.records)

    def action_delete(self) -> None:
        place = self.query_one(OptionList).highlighted
        if place is not None:
            self.ask_once(self._delete(self.records[place]))

    async def _delete(self, record: Record) -> None:
        if await ask(self.app, f"Delete the comparison of {record.when}?", "Delete", "Keep"):
            try:
                store.delete(record)
            except AppError as error:
                self.app.state.view.note(str(error), "error")
            if not self.was_closed:
                self._read()

    def _read(self) -> None:
        kept = store.kept()
        self.records = kept.records
        rows = self.query_one(OptionList)
        place = rows.highlighted or 0
        rows.set_options(Option(_row(record)) for record in kept.records)
        rows.highlighted = min(place, len(kept.records) - 1) if kept.records else None
        title = counted(len(kept.records), "comparison")
        if not kept.records:
            title = self.app.keys.fill_in("No comparison yet: in the chat, {chat.compare} runs one")
            self.query_one("#comparison-summary", Static).update(Content(""))
        self.refresh_bindings()
        bad = f", {counted(len(kept.unreadable), 'file')} cannot be read" if kept.unreadable else ""
        self.query_one("#comparisons-title", Static).update(Content(f"{title}{bad}"))


def _row(record: Record) -> Content:
    best = record.comparison(record.by_ratio()[0])
    return Content.assemble(
        (f"{record.when}  ", "$text-muted"),
        (f"{best.ratio_cell}  ", "bold"),
        f"{one_line(str(record.facts['pair']['name']))}  ",
        ("broken off  " if record.broken_off else "", "italic"),
        _what(record),
    )


def _what(record: Record) -> str:
    several = len(record.prompts) > 1
    what = f"{len(record.prompts)} prompts" if several else one_line(record.prompts[0].prompt)
    return f"{len(record.settings)} settings, {what}" if len(record.drafting) > 1 else what
