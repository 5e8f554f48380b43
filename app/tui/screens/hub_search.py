"""A search on the Hub: models with their sizes, whether they fit here, and their drafters."""

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Input, OptionList, Static
from textual.widgets.option_list import Option

from app.chat.pair_facts import Facts, hub_details, hub_facts
from app.shell.number_text import counted
from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.field import Field
from app.tui.widgets.item_list import ItemList, column
from app.tui.widgets.message_line import MessageLine
from app.tui.widgets.pair_rows import BAR_STYLES, FRAME, WIDE, WITH_LICENCE, drafted_by
from models.errors import ModelsError
from models.hub.search import SHOWN, FoundModel, search
from models.pairs.folder import MODEL
from models.size_text import size_text
from models.speed.machine import this_chip, this_machine

HINT = "Enter searches; on a model it makes a pair with it. Sizes are as the Hub says."


class HubSearchScreen(OpenedScreen[str | None]):
    """Returns the repository of the chosen model; None for Esc."""

    HELP = "Models on the Hub with MLX weights, those most often downloaded first."

    BINDINGS = [
        bind("enter", "choose", "Take", "hub.choose", "Make a pair with this model as its target"),
        bind("space", "more", "More", "hub.more",
             "Scroll the facts about the model; from their end back to their beginning"),
        bind("slash", "search", "Search", "hub.words", "Change the words of the search", priority=True),
        bind("escape", "dismiss", "Back", "hub.back", "Back to the pairs"),
    ]  # fmt: skip

    def __init__(self, words: str = "") -> None:
        super().__init__()
        self._words = words
        self.models: dict[str, tuple[FoundModel, Facts]] = {}
        """By repository."""

    def parts(self) -> ComposeResult:
        yield Field(self._words, placeholder="Search the Hub: qwen3 8b 4bit", id="hub-words")
        yield Static(id="hub-header")
        yield ItemList(markup=False)
        yield VerticalScroll(Static(), id="hub-details", can_focus=False)
        yield MessageLine(Content(HINT))

    def on_mount(self) -> None:
        self.set_focus(self.query_one(Input))  # `focus()` would set it behind letters that come at once
        if self._words.strip():
            self._search(self._words)

    def on_resize(self) -> None:
        self._draw()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        if event.value.strip():
            self._search(event.value)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        self.refresh_bindings()
        if event.option_id in self.models:
            model, facts = self.models[event.option_id]
            name, *lines = hub_details(model, facts.fit).split("\n")
            about = Content.assemble((name, "bold"), *(f"\n{line}" for line in lines), "\n")
            self.query_one("#hub-details Static", Static).update(about + drafted_by(facts.drafters))
            self.query_one(VerticalScroll).scroll_home(animate=False)

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.dismiss(event.option_id)

    def _search(self, words: str) -> None:
        self.show_message(f"Searching the Hub for {words}…")
        self.run_worker(lambda: self._ask(words), thread=True, exclusive=True)

    def _ask(self, words: str) -> None:
        try:
            machine, chip = this_machine(), this_chip()
            found = {model.repo: (model, hub_facts(model, machine, chip)) for model in search(words)}
        except (ModelsError, OSError) as error:
            self.from_thread(self.show_message, f"✗ {error}")
        else:
            self.from_thread(self._show, words, found)

    def _show(self, words: str, found: dict[str, tuple[FoundModel, Facts]]) -> None:
        self.models = found
        self._draw()
        if found and words == self.query_one(Input).value:  # else the person types on
            self.query_one(OptionList).focus()
        most = ", those downloaded most" if len(found) == SHOWN else ""
        what = f"{counted(len(found), 'model')} for {words}{most}. {HINT}"
        self.show_message(what if found else f"The Hub has no MLX model for {words}.")

    def _draw(self) -> None:
        width = self.size.width
        name = max(20, width - FRAME - (57 if width >= WITH_LICENCE else 41 if width >= WIDE else 10))
        head = f"{'model':<{name}} {'size':>9}"
        if width >= WIDE:
            head += f" {'downloads':>10} {'draft':<6} {'here':<12}"
        head += f" {'licence':<15}" if width >= WITH_LICENCE else ""
        self.query_one("#hub-header", Static).update(Content(head))
        options = self.query_one(OptionList)
        place = options.highlighted or 0
        options.clear_options()
        self.query_one("#hub-details Static", Static).update("")
        options.add_options(Option(_row(*known, name, width), id=repo) for repo, known in self.models.items())
        options.highlighted = min(place, len(self.models) - 1) if self.models else None


def _row(found: FoundModel, facts: Facts, name: int, width: int) -> Content:
    fit = facts.fit
    verdict = fit.verdict if fit else "not known"
    repo = one_line(found.repo)
    if len(repo) > name:
        repo = repo.split("/")[-1]  # what tells a model's sizes and quantisations apart comes last
    line = f"{column(repo, name)} {size_text(found.bytes) if found.bytes else '?':>9}"
    if width < WIDE:
        return Content.styled(line, BAR_STYLES[fit.verdict] if fit and fit.verdict != "fits" else "")
    draft = "yes" if any(drafter.kind == MODEL for drafter in facts.drafters) else "-"
    line += f" {found.downloads:>10,} {draft:<6} "
    licence = f" {column(found.licence, 15)}" if width >= WITH_LICENCE else ""
    style = "$text-muted" if fit and fit.verdict == "does not fit" else ""
    return Content.assemble(
        (line, style), (f"{verdict:<12}", BAR_STYLES[fit.verdict] if fit else ""), (licence, style)
    )
