"""The area below the transcript: numbers, waiting prompts, the prompt, the state of the chat."""

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

from app.chat.open_chat import OpenChat
from app.shell.printable import one_line
from app.tui.program import Program
from app.tui.widgets.download_list import short_line
from app.tui.widgets.figures import gauge_items, status_items
from app.tui.widgets.item_line import ItemLine
from app.tui.widgets.prompt import Prompt
from app.tui.widgets.token_text import ACCEPTED, OWN

SHOW_SECONDS = 0.25
"""How often the numbers follow a growing answer or a download."""

MEANINGS = (
    ("accepted", ACCEPTED, "drafted, right"),
    ("bonus", OWN, "target, after a draft"),
    ("plain", "", "target alone"),
)
QUEUE_SHOWN = 3
QUEUE_HINT = "↑ takes back · {prompt.at_once} sends at once"


class Legend(Static):
    def on_resize(self) -> None:
        parts = [
            Content.styled(mark, style) + (f" {meaning}" if self.size.width >= 72 else "")
            for mark, style, meaning in MEANINGS
        ]
        self.update(Content("   ").join(parts))


class QueueList(Static):
    """Prompts that wait for the running answer to end."""

    app: Program
    texts: reactive[tuple[str, ...]] = reactive(())

    def watch_texts(self) -> None:
        self.display = bool(self.texts)
        place = f"⋯ next {{}} of {len(self.texts)}: " if len(self.texts) > 1 else "⋯ next: "
        lines = [place.format(n) + one_line(t)[:200] for n, t in enumerate(self.texts[:QUEUE_SHOWN], 1)]
        hint = Content.styled(self.app.keys.fill_in(QUEUE_HINT), "$text-muted")
        self.update(Content("\n").join([*map(Content, lines), hint]))


class Below(Vertical):
    """`BLANK`: it has only a background, so that it costs no time while text streams in the transcript."""

    app: Program
    BLANK = True

    def __init__(self, chat: OpenChat) -> None:
        super().__init__()
        self.prompt = Prompt()
        self.legend = Legend()
        self._chat = chat
        self._gauges, self._queue, self._status = ItemLine(id="gauges"), QueueList(), ItemLine(id="status")
        self._gauged: object = None
        self._offered_stop: object = None

    def compose(self) -> ComposeResult:
        yield self.legend
        yield self._gauges
        yield self._queue
        yield self.prompt
        yield self._status

    def on_mount(self) -> None:
        self.set_interval(SHOW_SECONDS, self.show)

    def show(self) -> None:
        """Bring everything up to date."""
        if not self.is_attached:
            return
        chat, area = self._chat, self.prompt.area
        download = short_line(self.app.pulls.unfinished)
        answer = chat.conversation.last_answer
        log = chat.logs.get(answer.id) if answer else None
        # They are counted over all rounds, which takes the longer the more there are.
        if (gauged := (log, log and log.latest, log and log.over)) != self._gauged:
            self._gauged = gauged
            self._gauges.items = tuple(gauge_items(log)) if log else ()
        self._status.items = tuple(status_items(chat, download, self.app.keys.name("chat.stop")))
        self._queue.texts = tuple(waiting.text for waiting in chat.queued)
        if (stop := (chat.can_stop, chat.running is None, chat.editing)) != self._offered_stop:
            self._offered_stop = stop
            self.screen.refresh_bindings()
        # A blink costs a frame, and growing text already shows that the program is alive.
        area.cursor_blink = chat.running is None
        title = self.app.keys.fill_in("editing: {chat.stop} leaves it as it was") if chat.editing else ""
        if title != area.border_title:  # setting it draws the prompt again
            area.border_title = title
