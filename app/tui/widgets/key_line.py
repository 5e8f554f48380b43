"""The last line of a screen: its keys, whole ones only, those that matter most where not all of them fit."""

from dataclasses import dataclass

from rich.cells import cell_len
from textual.binding import ActiveBinding
from textual.content import Content
from textual.dom import DOMNode
from textual.events import Leave, MouseDown, MouseMove, Resize
from textual.screen import Screen
from textual.widgets import Static

from app.tui.keys.heard_keys import passed_on
from app.tui.keys.keyed_app import KeyedApp
from app.tui.keys.keymap import default_keys

EDGES = {True: 2, False: 3}
"""Columns beside a key and its label, by whether the line is compact."""


@dataclass(frozen=True, slots=True)
class _Shown:
    """A key as it is drawn."""

    heard: ActiveBinding
    key: str

    @property
    def comes_first(self) -> bool:
        """Where little fits: the key that explains all the others, and the one that leads out."""
        binding = str(self.heard.binding.id)
        return binding == "app.help" or "escape" in default_keys().get(binding, "").split(",")

    @property
    def seen(self) -> tuple[object, ...]:
        """What of it can be seen, and the key that a click on it presses."""
        binding = self.heard.binding
        return self.key, binding.key, binding.description, self.heard.enabled, self.heard.tooltip

    def cells(self, *, compact: bool) -> int:
        return cell_len(self.key) + cell_len(self.heard.binding.description) + EDGES[compact]

    def drawn(self, *, compact: bool, hovered: bool) -> Content:
        edge = "" if compact else " "
        content = Content.assemble(
            (f"{edge}{self.key}{edge}", "bold $footer-key-foreground on $footer-key-background"),
            (
                f"{' ' if compact else ''}{self.heard.binding.description}{edge}",
                "$footer-description-foreground on $footer-description-background",
            ),
        )
        if not self.heard.enabled:
            content = content.stylize_before("dim")
        return content.stylize_before("on $block-hover-background") if hovered else content


class KeyLine(Static):
    """Textual's own footer has a widget for each key, makes all of them anew where one comes or the focus
    moves (half of what the screen had to do when an answer began), and cuts a key in two where the line ends.
    """

    app: KeyedApp

    ALLOW_SELECT = False

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[_Shown] = []
        self._compact = False
        self._hovered: _Shown | None = None
        """The key under the mouse."""
        self._ready = False
        """The screen knows which keys are heard."""

    def on_mount(self) -> None:
        self.screen.bindings_updated_signal.subscribe(self, self._bindings_changed)

    def on_resize(self, event: Resize) -> None:
        self._follow()

    def on_mouse_move(self, event: MouseMove) -> None:
        self._hover(self._key_at(event.x))

    def on_leave(self, event: Leave) -> None:
        self._hover(None)

    def on_mouse_down(self, event: MouseDown) -> None:
        key = self._key_at(event.x)
        if key is not None and key.heard.enabled:
            self.app.simulate_key(key.heard.binding.key)
        elif key is not None:
            self.app.bell()

    def _bindings_changed(self, screen: Screen) -> None:
        self._ready = True
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._follow)

    def _follow(self) -> None:
        if not self._ready or not self.is_attached:
            return
        compact, keys = self._fitting()
        if compact != self._compact or [one.seen for one in keys] != [one.seen for one in self._keys]:
            self._compact, self._keys = compact, keys
            self._hovered, self.tooltip = None, None
            self._draw()

    def _hover(self, key: _Shown | None) -> None:
        if key is not self._hovered:
            self._hovered = key
            self.tooltip = (key.heard.tooltip or None) if key is not None else None
            self.styles.pointer = "pointer" if key is not None else "default"
            self._draw()

    def _draw(self) -> None:
        keys = [key.drawn(compact=self._compact, hovered=key is self._hovered) for key in self._keys]
        self.update(Content(" " if self._compact else "").join(keys), layout=False)

    def _key_at(self, column: int) -> _Shown | None:
        for key in self._keys:
            cells = key.cells(compact=self._compact)
            # The gap after a key is nobody's.
            if column < cells - self._compact:
                return key if column >= 0 else None
            column -= cells
        return None

    def _fitting(self) -> tuple[bool, list[_Shown]]:
        """Whether the line is compact, and its keys."""
        shown, width = self._known(), self.app.size.width
        if _fit(shown, width, compact=False):
            return False, shown
        return True, _fitting(shown, width)

    def _known(self) -> list[_Shown]:
        """One key per action: what has the focus first, the app last, each in the order it was written.

        The command palette's, which is Textual's own, ends them.
        """
        focused = self.screen.focused or self.screen
        chain: list[DOMNode] = list(focused.ancestors_with_self)
        order = list(default_keys())
        found: dict[str, ActiveBinding] = {}
        active = self.screen.active_bindings
        for heard in active.values():
            if heard.binding.show and heard.binding.id in order:
                found.setdefault(str(heard.binding.id), heard)
        for binding in passed_on(self.screen):
            # That Enter takes what is chosen goes without saying.
            if binding.show and binding.id and binding.key != "enter":
                heard = ActiveBinding(
                    self.screen, binding.with_key(self.app.keys.of(binding.id)[0]), True, binding.tooltip
                )
                found.setdefault(binding.id, heard)
        ours = sorted(found.values(), key=lambda h: (chain.index(h.node), order.index(str(h.binding.id))))
        palette = [heard for key, heard in active.items() if key == self.app.COMMAND_PALETTE_BINDING]
        return [_Shown(heard, self.app.get_key_display(heard.binding)) for heard in [*ours, *palette]]


def _fitting(shown: list[_Shown], width: int) -> list[_Shown]:
    """In their order, without those that matter least."""
    kept: list[_Shown] = []
    for one in sorted(shown, key=lambda one: not one.comes_first):
        if not _fit([*kept, one], width, compact=True):
            break
        kept.append(one)
    return [one for one in shown if one in kept]


def _fit(shown: list[_Shown], width: int, *, compact: bool) -> bool:
    # Nothing has to follow the last one.
    return sum(one.cells(compact=compact) for one in shown) - compact <= width
