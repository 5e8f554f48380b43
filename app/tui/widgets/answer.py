"""An answer, growing or finished: one widget of any length, drawn line by line."""

import time
from asyncio import TimerHandle
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import takewhile
from operator import eq

from rich.cells import cell_len
from rich.segment import Segment
from rich.style import Style
from textual.geometry import Region, Size
from textual.reactive import reactive, var
from textual.selection import Selection
from textual.strip import Strip
from textual.style import Style as VisualStyle

from app.engine.events import Mark, Piece, append, text_of
from app.engine.thinking import thought_of
from app.shell.printable import printable
from app.tui.widgets.found_words import FOUND, places
from app.tui.widgets.item_line import SEPARATOR
from app.tui.widgets.later import later
from app.tui.widgets.markdown_lines import MarkdownLines
from app.tui.widgets.message import Message
from app.tui.widgets.notices import copy
from app.tui.widgets.token_text import ACCEPTED, OWN
from app.tui.widgets.wrapping import Line, Run, Styles

MARKS: dict[Mark, str] = {"accepted": ACCEPTED, "bonus": OWN}

STATS, THOUGHT, SELECTED = "$text-muted", "italic $text-muted", "screen--selection"
FOLD = "@toggle('unfolded')"

SHARE = 1 / 24
"""Largest share of a core for laying out a growing answer: a long table is drawn less often."""
SHORTEST_PAUSE = 0.001


class Answer(Message):
    """Markdown, with or without marked tokens, and a line of numbers below. Its thought is folded."""

    marks: reactive[bool] = reactive(False, init=False)
    unfolded: reactive[bool] = reactive(False, init=False)

    virtual_size = var(Size(0, 0))
    """Not `layout=True` as in Textual: it changes during a layout."""

    def __init__(
        self,
        pieces: Sequence[Piece] = (),
        stats: str = "",
        branch: str = "",
        *,
        marks: bool = False,
        growing: bool = False,
    ) -> None:
        """`branch`: `‹2/3›`; empty if there is one branch only."""
        super().__init__()
        self.stats = stats
        self.branch = branch
        self.growing = growing
        self.set_reactive(Answer.marks, marks)
        self._thought, self._answer = MarkdownLines((THOUGHT,)), MarkdownLines()
        self._width = 0
        self._rows: list[Line] = []
        self._drawn: dict[int, Strip] = {}
        """Cached lines; Textual clears its own cache whenever the height changes."""
        self._styles: dict[Styles, Style] = {}
        self._arrange_timer: TimerHandle | None = None
        self._pause = SHORTEST_PAUSE
        self._edges: list[int] = []
        """Start and end of each word of `found` in the shown text."""
        self._reset()
        self._take(pieces)

    @property
    def text(self) -> str:
        return text_of(self.pieces)

    def add(self, pieces: Sequence[Piece]) -> None:
        """Append text; only the lines it touches are drawn again, soon."""
        self._take(pieces)
        if self._arrange_timer is None:
            self._arrange_timer = later(self, self._pause, self._arrange)

    def end(self, pieces: Sequence[Piece], stats: str, branch: str) -> None:
        """The answer is complete: `pieces` are all of it."""
        self.growing, self.stats, self.branch = False, stats, branch
        self._reset()
        self._take(pieces)
        self._arrange()

    def _reset(self) -> None:
        self.pieces: list[Piece] = []
        self._shown = ""
        self._mark_ends: list[int] = []
        """Where each piece ends in the shown text."""

    def _take(self, pieces: Sequence[Piece]) -> None:
        for piece in pieces:
            before = len(self.pieces)
            append(self.pieces, piece)
            self._shown += printable(piece.text)
            del self._mark_ends[before - (len(self.pieces) == before) :]
            self._mark_ends.append(len(self._shown))

    def _arrange(self) -> None:
        """Lay out the rows again and draw those that changed; without a width there are none."""
        if self._arrange_timer is not None:
            self._arrange_timer.cancel()
            self._arrange_timer = None
        if not self._width:
            return
        start = time.thread_time()
        before, self._rows = self._rows, self._made_rows()
        self._pause = max(SHORTEST_PAUSE, (time.thread_time() - start) / SHARE)
        same = sum(takewhile(bool, map(eq, before, self._rows)))
        # Drops lines below the end too: blanks, drawn after the answer got shorter.
        self._drawn = {y: strip for y, strip in self._drawn.items() if y < same}
        if len(before) == len(self._rows):
            self.refresh(Region(0, same, self.outer_size.width, len(self._rows) - same))
        else:
            self.refresh(layout=True)

    def _made_rows(self) -> list[Line]:
        text, width = self._shown, self._width
        thought, answer_at, finished, thought_at = thought_of(text)
        rows: list[Line] = []
        if thought:
            unfolded = self.unfolded or (self.growing and not finished)
            rows.append((self._thought_line(len(thought.split()), finished, unfolded),))
            if unfolded:
                self._thought.show(thought, thought_at, width)
                rows += (*self._thought.lines, ())
        self._answer.show(text[answer_at:], answer_at, width)
        rows += self._answer.lines
        if stats := " ".join(part for part in (self.branch, self.stats) if part):
            rows += ((Run(line, (STATS,)),) for line in broken(printable(stats), width))
        return rows or [()]

    def _thought_line(self, words: int, finished: bool, unfolded: bool) -> Run:
        if self.growing and not finished:
            return Run("▾ thinking", (THOUGHT,))
        unfinished = "" if finished else ", unfinished"
        sign, hint = ("▾", "fold") if unfolded else ("▸", "show")
        return Run(f"{sign} thought in {words} words{unfinished} (/thoughts: {hint})", (THOUGHT, FOLD))

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        if width and width != self._width:
            self._width = width
            self._rows = self._made_rows()
            self._draw_again()  # where only the padding changed, Textual draws no more after this
        return len(self._rows)

    def on_resize(self) -> None:
        """Textual remembers the height for a width that it had before, and does not ask for it again."""
        self.get_content_height(self.size, self.size, self.content_size.width)

    def watch_marks(self) -> None:
        self._draw_again()

    def watch_found(self) -> None:
        self._edges = [edge for place in places(self._shown, self.found) for edge in place]
        if self._edges and self._edges[-1] <= thought_of(self._shown).answer_at:
            self.unfolded = True  # the words are in the thought alone
        self._draw_again()

    def first_found(self) -> int:
        for y, row in enumerate(self._rows):
            if any(FOUND in part.styles for run in row for part in self._with_words(run)):
                return y
        return 0

    def place_at(self, line: float) -> float:
        """The offset of the text in this line or below, which growing does not change."""
        rows = self._rows[max(0, round(line)) :]
        return next((run.at for row in rows for run in row if run.at >= 0), len(self._shown))

    def line_at(self, place: float) -> float:
        return bisect_left(range(len(self._rows)), place, key=self.place_at)

    def watch_unfolded(self) -> None:
        self._arrange()

    def selection_updated(self, selection: Selection | None) -> None:
        self._draw_again()

    def notify_style_update(self) -> None:
        super().notify_style_update()
        self._styles = {}
        self._drawn = {}

    def _draw_again(self) -> None:
        self._drawn = {}
        self.refresh()

    def render_lines(self, crop: Region) -> list[Strip]:
        if crop.column_span != (0, self.outer_size.width):
            return super().render_lines(crop)
        for y in crop.line_range:
            if y not in self._drawn or self._drawn[y].cell_length != crop.width:
                [self._drawn[y]] = super().render_lines(Region(0, y, crop.width, 1))
        return [self._drawn[y] for y in crop.line_range]

    def render_line(self, y: int) -> Strip:
        width, base = self.content_size.width, self.visual_style.rich_style
        if y >= len(self._rows):
            return Strip.blank(width, base)
        strip = Strip(self._segments(y))
        return strip.crop_extend(0, width, base).apply_offsets(0, y)

    def _segments(self, y: int) -> Iterator[Segment]:
        # Textual draws a widget once more after it was removed: it has no screen to ask then.
        selection = self.text_selection if self.is_attached else None
        start, end = (selection.get_span(y) if selection else None) or (0, 0)
        x = 0
        for run in self._rows[y]:
            for marked in (word for part in self._marked(run) for word in self._with_words(part)):
                for part in marked.split(start - x, end - x):
                    selected = part.at >= 0 and start <= x and (end == -1 or x < end)
                    yield Segment(
                        part.text, self._style((*part.styles, SELECTED) if selected else part.styles)
                    )
                    x += len(part.text)

    def _with_words(self, run: Run) -> list[Run]:
        """Mark the words of a search, those too that are broken over two lines."""
        edges = self._edges
        if run.at < 0 or not edges:
            return [run]
        inner = edges[bisect_right(edges, run.at) : bisect_left(edges, run.at + run.size)]
        parts = run.split(*(edge - run.at for edge in inner))
        return [p._replace(styles=(*p.styles, FOUND)) if bisect_right(edges, p.at) % 2 else p for p in parts]

    def _marked(self, run: Run) -> list[Run]:
        if not self.marks or run.at < 0:
            return [run]
        ends = self._mark_ends
        inner = ends[bisect_right(ends, run.at) : bisect_left(ends, run.at + run.size)]
        return [
            part for piece in run.split(*(end - run.at for end in inner)) for part in self._with_mark(piece)
        ]

    def _with_mark(self, run: Run) -> list[Run]:
        """Mark a run, but not the blanks at its ends, which would be underlined."""
        mark = self.pieces[min(bisect_right(self._mark_ends, run.at), len(self.pieces) - 1)].mark
        if mark not in MARKS:
            return [run]
        text, styles = run.text, (*run.styles, MARKS[mark])
        parts = run.split(len(text) - len(text.lstrip(" ")), len(text.rstrip(" ")))
        return [part._replace(styles=styles) if part.text.strip(" ") else part for part in parts]

    def _style(self, styles: Styles) -> Style:
        if styles not in self._styles:
            visual, click = self.visual_style, Style()
            for name in styles:
                if name.startswith("@"):
                    click = Style.from_meta({"@click": name[1:]})
                elif name == SELECTED:
                    visual += VisualStyle.from_styles(self.screen.get_component_styles(name))
                else:
                    visual += self.app.stylesheet.parse_style(name)
            self._styles[styles] = visual.rich_style + click
        return self._styles[styles]

    def get_selection(self, selection: Selection) -> tuple[str, str] | None:
        """The source of the selection: Markdown as the model wrote it, lines not wrapped."""
        places: list[int] = []
        for y, row in enumerate(self._rows):
            start, end = selection.get_span(y) or (0, 0)
            x = 0
            for run in row:
                first, last = max(0, start - x), len(run.text) if end == -1 else min(len(run.text), end - x)
                if run.at >= 0 and first < last:
                    places += (run.source(first), run.source(last))
                x += len(run.text)
        if not places:
            return None
        if selection.start is None:
            places.append(0 if self.unfolded else thought_of(self._shown).answer_at)
        return self._shown[min(places) : None if selection.end is None else max(places)], "\n"

    def action_copy_code(self, place: int) -> None:
        code = (self._answer.codes.get(place) or self._thought.codes[place]).texts
        copy(self.app, "\n".join(code) + "\n")


def broken(text: str, width: int) -> list[str]:
    """Wrap a text at its separators; a part is never broken."""
    first, *others = text.split(SEPARATOR)
    lines = [first]
    for part in others:
        longer = f"{lines[-1]}{SEPARATOR}{part}"
        if cell_len(longer) <= width:
            lines[-1] = longer
        else:
            lines.append(part)
    return lines
