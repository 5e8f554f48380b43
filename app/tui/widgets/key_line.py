"""The last line of a screen: its keys, whole ones only, those that matter most where not all of them fit."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

from rich.cells import cell_len
from textual.app import ComposeResult
from textual.binding import ActiveBinding
from textual.dom import DOMNode
from textual.events import Resize
from textual.screen import Screen
from textual.widgets import Footer
from textual.widgets._footer import FooterKey

from app.tui.key_help import passed_on
from app.tui.keymap import default_keys

if TYPE_CHECKING:
    from app.tui.app import ChatApp

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


class KeyLine(Footer):
    """Textual's own footer cuts a key in two where the line ends, whichever key that is, and makes all
    of them anew each time the focus moves.
    """

    app: "ChatApp"

    _drawn: tuple[bool, list[tuple[object, ...]]] | None = None
    """What is in the line: whether it is compact, and what of each key can be seen."""

    def on_resize(self, event: Resize) -> None:
        self._follow()

    def bindings_changed(self, screen: Screen) -> None:
        self._bindings_ready = True
        if screen.app.app_focus and self.is_attached and screen is self.screen:
            self.call_after_refresh(self._follow)

    def _follow(self) -> None:
        if not self._bindings_ready or not self.is_attached:
            return
        compact, shown = self._fitting()
        if self._drawn != (compact, [one.seen for one in shown]):
            self.refresh(recompose=True)

    def compose(self) -> ComposeResult:
        if not self._bindings_ready:
            return
        compact, shown = self._fitting()
        self._drawn = compact, [one.seen for one in shown]
        self.compact = compact
        for one in shown:
            binding = one.heard.binding
            yield FooterKey(
                binding.key,
                one.key,
                binding.description,
                binding.action,
                disabled=not one.heard.enabled,
                tooltip=one.heard.tooltip,
            ).data_bind(compact=Footer.compact)

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
