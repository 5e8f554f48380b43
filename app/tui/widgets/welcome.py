"""The first thing in an empty conversation: which pair answers, and what to press."""

from textual.content import Content
from textual.widgets import Static

from app.chat.engine_link import EngineState
from app.engine.events import PairInfo
from app.shell.printable import one_line
from app.tui.keys.keyed_app import KeyedApp

TIPS = """\
{app.help} help · {prompt.send} sends · {prompt.newline} new line · {chat.draft} draft · \
{chat.compare} compare · {app.pairs} pairs"""


class Welcome(Static):
    """Title, pair, tips."""

    app: KeyedApp

    def show_pair(self, name: str, state: EngineState, info: PairInfo | None) -> None:
        """Describe the pair as far as it is known."""
        lines = [
            Content.assemble(
                ("mlx-spec", "bold $text-primary"), "  a small model guesses ahead, the large one checks"
            ),
            Content(_pair(name, state, info)),
            Content.styled(self.app.keys.told(TIPS), "dim"),
        ]
        self.update(Content("\n").join(lines))


def _pair(name: str, state: EngineState, info: PairInfo | None) -> str:
    if info is None:
        return f"{name}: loading. You can write already." if state == "loading" else f"{name}: not loaded"
    draft = "with a draft model" if info.can_draft else "without a draft model"
    memory = (
        f"{info.memory_bytes / 1e9:.2f} GB"
        if info.memory_bytes >= 1e8
        else f"{info.memory_bytes / 1e6:.0f} MB"
    )
    return f"{one_line(info.name)} {draft} · {memory} · {one_line(info.device)}"
