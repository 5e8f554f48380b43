"""The first thing in an empty conversation: which pair answers, and what to press."""

from textual.content import Content
from textual.widgets import Static

from app.chat.engine_link import EngineState
from app.engine.events import PairInfo
from app.shell.printable import one_line
from app.tui.program import Program
from models.size_text import size_text

TIPS = """\
{app.help} help · {prompt.send} sends · {prompt.newline} new line · {chat.draft} draft · \
{chat.compare} compare · {app.pairs} pairs"""


class Welcome(Static):
    app: Program

    def show_pair(self, name: str, state: EngineState, info: PairInfo | None) -> None:
        if info is not None:
            draft = "with a draft model" if info.can_draft else "without a draft model"
            pair = f"{one_line(info.name)} {draft} · {size_text(info.memory_bytes)} · {one_line(info.device)}"
        else:
            pair = f"{name}: loading. You can write already." if state == "loading" else f"{name}: not loaded"
        title = ("mlx-spec", "bold $text-primary")
        about = "  a small model guesses ahead, the large one checks\n"
        self.update(Content.assemble(title, about, f"{pair}\n", (self.app.keys.fill_in(TIPS), "dim")))
