"""The last line of a screen: its keys, whole ones only, those that matter most where not all of them fit."""

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import ActiveBinding, Binding
from textual.dom import DOMNode
from textual.screen import Screen
from textual.widgets import Footer, OptionList
from textual.widgets._footer import FooterKey

from app.tui.keys.keymap import default_keys
from app.tui.program import Program

WIDE_EDGES, COMPACT_EDGES = 3, 2
"""Columns beside a key and its label."""


class KeyLine(Footer):
    """Textual's own cuts a key in two where the line ends, and makes all of them anew too often."""

    app: Program

    def __init__(self) -> None:
        super().__init__()
        self._keys: list[ActiveBinding] = []

    def compose(self) -> ComposeResult:
        for heard in self._keys:
            binding = heard.binding
            yield FooterKey(
                binding.key,
                self.app.get_key_display(binding),
                binding.description,
                binding.action,
                disabled=not heard.enabled,
                tooltip=heard.tooltip,
            ).data_bind(compact=Footer.compact)

    def bindings_changed(self, screen: Screen[object]) -> None:
        self._bindings_ready = True
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._show_keys)

    def on_resize(self) -> None:
        if self._bindings_ready:
            self.call_after_refresh(self._show_keys)

    async def _show_keys(self) -> None:
        if not self.is_attached:
            return
        keys = self._known()
        compact = not self._fit(keys, WIDE_EDGES)
        if compact:
            keys = self._most_important(keys)
        if (compact, keys) != (self.compact, self._keys):
            self.compact, self._keys = compact, keys
            await self.recompose()

    def _known(self) -> list[ActiveBinding]:
        """One key per action: what has the focus first, the app last, then the command palette's."""
        chain: list[DOMNode] = list((self.screen.focused or self.screen).ancestors_with_self)
        order = list(default_keys())
        found: dict[str, ActiveBinding] = {}
        active = self.screen.active_bindings
        for heard in active.values():
            if heard.binding.show and heard.binding.id in order:
                found.setdefault(str(heard.binding.id), heard)
        for binding in passed_on(self.screen):
            # That Enter takes what is chosen goes without saying.
            if binding.show and binding.id and binding.key != "enter":
                pressed = binding.with_key(self.app.keys.of(binding.id)[0])
                found.setdefault(binding.id, ActiveBinding(self.screen, pressed, True, binding.tooltip))
        ours = sorted(found.values(), key=lambda h: (chain.index(h.node), order.index(str(h.binding.id))))
        return [*ours, *(active[key] for key in [self.app.COMMAND_PALETTE_BINDING] if key in active)]

    def _most_important(self, keys: list[ActiveBinding]) -> list[ActiveBinding]:
        """As many as fit: before all others the help and the way out."""
        kept: list[ActiveBinding] = []
        for heard in sorted(keys, key=lambda heard: not _comes_first(str(heard.binding.id))):
            if not self._fit([*kept, heard], COMPACT_EDGES):
                break
            kept.append(heard)
        return [heard for heard in keys if heard in kept]

    def _fit(self, keys: list[ActiveBinding], edges: int) -> bool:
        texts = (self.app.get_key_display(key.binding) + key.binding.description for key in keys)
        cells = sum(cell_len(text) + edges for text in texts)
        return cells - (edges == COMPACT_EDGES) <= self.app.size.width  # no gap after the last one


def passed_on(screen: Screen[object]) -> list[Binding]:
    """The own bindings of a screen whose list has the focus: with their keys it does the same, or nothing."""
    if not isinstance(screen.focused, OptionList):
        return []
    return [binding for binding in screen.BINDINGS if isinstance(binding, Binding)]


def _comes_first(binding: str) -> bool:
    return binding == "app.help" or "escape" in default_keys().get(binding, "").split(",")
