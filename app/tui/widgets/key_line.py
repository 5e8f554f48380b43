"""The last line of a screen: its keys, uncut; the most important ones if not all fit."""

from collections.abc import Callable

from textual.actions import parse
from textual.binding import ActiveBinding, Binding
from textual.content import Content
from textual.dom import DOMNode
from textual.events import MouseDown, MouseMove
from textual.keys import key_to_character
from textual.screen import Screen
from textual.widgets import OptionList, Static

from app.tui.keys.keymap import default_keys
from app.tui.program import Program

WIDE, COMPACT = " {key} {label} ", "{key} {label}"
"""How a key is written. Compact ones have a space between them."""


class KeyLine(Static):
    """One widget: Textual's footer makes a new one per key, and cuts a key at the end of the line."""

    app: Program
    ALLOW_SELECT = False

    def __init__(self, applies: Callable[[str], bool]) -> None:
        """`applies`: whether an action of the screen is offered now."""
        super().__init__(markup=False)
        self._applies = applies
        self.keys: list[tuple[Content, ActiveBinding]] = []
        """The keys shown, from the left."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self) -> None:
        self.call_after_refresh(self._show_keys)

    def on_mouse_move(self, event: MouseMove) -> None:
        active = self._under(event.x)
        self.tooltip = active.tooltip or None if active else None

    def on_mouse_down(self, event: MouseDown) -> None:
        if active := self._under(event.x):
            self.app.simulate_key(active.binding.key)

    def _bindings_changed(self, screen: Screen[object]) -> None:
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    def _show_keys(self) -> None:
        if not self.is_attached:
            return
        available = self._available()
        keys, gap = [(self._text(active, WIDE), active) for active in available], Content("")
        if sum(text.cell_length for text, _ in keys) > self.size.width:
            keys, gap = self._most_important(available), Content(" ")
        if keys != self.keys:
            self.keys = keys
            self.update(gap.join(text for text, _ in keys))

    def _text(self, active: ActiveBinding, how: str) -> Content:
        key, binding = self.app.get_key_display(active.binding), active.binding
        text = Content(how.format(key=key, label=binding.description))
        start = len(text.plain) - len(text.plain.lstrip())
        text = text.stylize("bold $footer-key-foreground", start, start + len(key))
        return text if active.enabled else text.stylize("$text-muted")

    def _under(self, x: int) -> ActiveBinding | None:
        """The key at a column."""
        end, gap = 0, int(bool(self.keys) and not self.keys[0][0].plain.startswith(" "))
        for text, active in self.keys:
            end += text.cell_length
            if x < end:
                return active
            end += gap
        return None

    def _available(self) -> list[ActiveBinding]:
        """One key per action: those of the focus first, the app's last."""
        chain: list[DOMNode] = list((self.screen.focused or self.screen).ancestors_with_self)
        order = list(default_keys())
        found: dict[str, ActiveBinding] = {}
        bindings, applies = self.screen.active_bindings, self._applies
        for active in bindings.values():
            offered = active.binding.show and active.binding.id in order and applies(active.binding.action)
            if offered and not self._is_typed(active.binding.key):
                found.setdefault(str(active.binding.id), active)
        for binding in passed_on(self.screen):
            # Enter on a list needs no explanation.
            if binding.show and binding.id and binding.key != "enter" and applies(binding.action):
                pressed = binding.with_key(self.app.keys.of(binding.id)[0])
                found.setdefault(binding.id, ActiveBinding(self.screen, pressed, True, binding.tooltip))
        return sorted(found.values(), key=lambda h: (chain.index(h.node), order.index(str(h.binding.id))))

    def _is_typed(self, key: str) -> bool:
        """Whether a field takes the key for text. Textual leaves out only the default keys that it takes."""
        focused = self.screen.focused
        return focused is not None and focused.check_consume_key(key, key_to_character(key))

    def _most_important(self, available: list[ActiveBinding]) -> list[tuple[Content, ActiveBinding]]:
        """As many as fit, the help key and Escape before all others."""
        kept: list[ActiveBinding] = []
        left = self.size.width + 1  # no gap after the last one
        for active in sorted(available, key=lambda active: not _comes_first(str(active.binding.id))):
            cells = self._text(active, COMPACT).cell_length + 1
            if cells <= left:
                left -= cells
                kept.append(active)
        return [(self._text(active, COMPACT), active) for active in available if active in kept]


def passed_on(screen: Screen[object]) -> list[Binding]:
    """A screen's own bindings, if its list has the focus: the list's bindings hide them and do the same."""
    if not isinstance(screen.focused, OptionList):
        return []
    own = [binding for binding in screen.BINDINGS if isinstance(binding, Binding)]
    return [binding for binding in own if screen.check_action(*parse(binding.action)[1:])]


def _comes_first(binding: str) -> bool:
    return binding == "app.help" or "escape" in default_keys().get(binding, "").split(",")
