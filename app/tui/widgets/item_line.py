"""One line of numbers; where it does not fit, items are shortened, then left out, the lightest first.

Items have their whole text again where those left out made room for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from rich.cells import cell_len
from textual.content import Content
from textual.reactive import reactive
from textual.widgets import Static

SEPARATOR = " · "


@dataclass(frozen=True, slots=True)
class LineItem:
    """A part of the line; `short` replaces its text on a narrow line."""

    text: str
    weight: int
    style: str = ""
    short: str = ""


class ItemLine(Static):
    items: reactive[tuple[LineItem, ...]] = reactive(())

    def watch_items(self) -> None:
        items = fitting(self.items, self.content_size.width)
        parts = [Content.styled(item.text, item.style) for item in items]
        self.update(Content(SEPARATOR).join(parts), layout=False)

    def on_resize(self) -> None:
        self.watch_items()


def fitting(items: Sequence[LineItem], width: int) -> list[LineItem]:
    """The items, shortened from the lightest on and then dropped, until they fit; always at least one."""
    lightest_first = sorted(items, key=lambda item: item.weight)
    kept = list(items)
    for item in lightest_first:
        if not _fit(kept, width) and item.short:
            kept[kept.index(item)] = replace(item, text=item.short)
    while len(kept) > 1 and not _fit(kept, width):
        kept.remove(min(kept, key=lambda item: item.weight))
    for item in reversed(lightest_first) if len(kept) < len(items) else ():
        whole = [item if one == replace(item, text=item.short) else one for one in kept]
        if _fit(whole, width):
            kept = whole
    return kept


def _fit(items: list[LineItem], width: int) -> bool:
    return cell_len(SEPARATOR.join(item.text for item in items)) <= width
