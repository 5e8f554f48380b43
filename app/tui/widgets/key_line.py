"""The last line of a screen: its keys, whole ones only, those that matter most where not all of them fit."""

from textual.actions import parse
from textual.binding import ActiveBinding, Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.events import MouseDown, MouseMove
from textual.screen import Screen
from textual.widgets import OptionList, Static

from app.tui.keys.keymap import default_keys
from app.tui.program import Program

WIDE, COMPACT = " {key} {label} ", "{key} {label}"
"""How a key is written. Compact ones have a space between them."""


class KeyLine(Static):
    """One widget: Textual's own makes one of each key anew, and cuts a key in two where the line ends."""

    app: Program
    ALLOW_SELECT = False
    DEFAULT_CSS = """
    KeyLine {
        dock: bottom;
        height: 1;
        text-wrap: nowrap;
        color: $footer-description-foreground;
        background: $footer-background;
    }
    """

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.keys: list[tuple[Content, ActiveBinding]] = []
        """What is shown, from the left."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_keys)

    def on_mouse_move(self, event: MouseMove) -> None:
        heard = self._under(event.x)
        self.tooltip = heard.tooltip or None if heard else None

    def on_mouse_down(self, event: MouseDown) -> None:
        if heard := self._under(event.x):
            self.app.simulate_key(heard.binding.key)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        if not self.is_attached:
            return
        known = self._known()
        keys, gap = [(self._text(heard, WIDE), heard) for heard in known], Content("")
        if _cells(keys) > self.size.width:
            keys, gap = self._most_important(known), Content(" ")
        if keys != self.keys:
            self.keys = keys
            self.update(gap.join(text for text, _ in keys))

    def _text(self, heard: ActiveBinding, how: str) -> Content:
        key, binding = self.app.get_key_display(heard.binding), heard.binding
        text = Content(how.format(key=key, label=binding.description))
        start = len(text.plain) - len(text.plain.lstrip())
        text = text.stylize("bold $footer-key-foreground", start, start + len(key))
        return text if heard.enabled else text.stylize("$text-muted")

    def _under(self, x: int) -> ActiveBinding | None:
        """The key at a column."""
        end, gap = 0, int(bool(self.keys) and not self.keys[0][0].plain.startswith(" "))
        for text, heard in self.keys:
            end += text.cell_length
            if x < end:
                return heard
            end += gap
        return None

    def _known(self) -> list[ActiveBinding]:
        """One key per action: what has the focus first, the app last, then the command palette's."""
        chain: list[DOMNode] = list((self.screen.focused or self.screen).ancestors_with_self)
        order = list(default_keys())
        found: dict[str, ActiveBinding] = {}
        active = self.screen.active_bindings
        for heard in active.values():
            if heard.binding.show and heard.binding.id in order and self.app.applies(heard.binding.action):
                found.setdefault(str(heard.binding.id), heard)
        for binding in passed_on(self.screen):
            # That Enter takes what is chosen goes without saying.
            if binding.show and binding.id and binding.key != "enter" and self.app.applies(binding.action):
                pressed = binding.with_key(self.app.keys.of(binding.id)[0])
                found.setdefault(binding.id, ActiveBinding(self.screen, pressed, True, binding.tooltip))
        ours = sorted(found.values(), key=lambda h: (chain.index(h.node), order.index(str(h.binding.id))))
        return [*ours, *(active[key] for key in [self.app.COMMAND_PALETTE_BINDING] if key in active)]

    def _most_important(self, known: list[ActiveBinding]) -> list[tuple[Content, ActiveBinding]]:
        """As many as fit: before all others the help and the way out."""
        kept: list[ActiveBinding] = []
        left = self.size.width + 1  # no gap after the last one
        for heard in sorted(known, key=lambda heard: not _comes_first(str(heard.binding.id))):
            left -= self._text(heard, COMPACT).cell_length + 1
            if left < 0:
                break
            kept.append(heard)
        return [(self._text(heard, COMPACT), heard) for heard in known if heard in kept]


def _cells(keys: list[tuple[Content, ActiveBinding]]) -> int:
    return sum(text.cell_length for text, _ in keys)


def passed_on(screen: Screen[object]) -> list[Binding]:
    """The own bindings of a screen whose list has the focus: with their keys it does the same, or nothing."""
    if not isinstance(screen.focused, OptionList):
        return []
    own = [binding for binding in screen.BINDINGS if isinstance(binding, Binding)]
    return [binding for binding in own if screen.check_action(*parse(binding.action)[1:])]


def _comes_first(binding: str) -> bool:
    return binding == "app.help" or "escape" in default_keys().get(binding, "").split(",")
