"""Lays out parsed Markdown in lines. Nothing is hidden: HTML is text, link targets are written out."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import accumulate

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode
from rich.cells import cell_len, set_cell_size

from app.engine.thinking import answer_of
from app.shell.printable import printable
from app.tui.widgets.coloured_code import Coloured, ColouredCode
from app.tui.widgets.wrapping import Line, Run, Styles, cells, exact, text_of, wrapped

PARSER = (
    MarkdownIt("commonmark", {"html": False})
    .enable(["strikethrough", "table"])
    # A later link definition or heading underline would change lines already on the screen.
    .disable(["reference", "lheading", "text_join"])
)

BULLET = QUOTE = "$text-primary"
CODE = "$text-secondary on $surface"
LINK = "underline"
RULE = URL = "$text-muted"
BLOCK, CORNER, TITLE = "on $surface", "$text-primary on $surface", "$text-muted on $surface"
INLINE = {"em": "italic", "s": "strike", "strong": "bold", "th": "bold"}
HEADINGS = {"h1": "bold $text-primary", "h2": "bold $text-primary"}
"""The others are bold."""

_LISTS = ("bullet_list", "ordered_list")
_COPY = " copy "
_TAB = "    "
_LATEX = {f"\\{sign}" for sign in "()[]{},;:!%&\\"}
"""Escapes that are shown as written: far more often than Markdown they are a model's LaTeX."""
_PIPE = re.compile(r"(?<!\\)\|")
_BETWEEN = "  "
"""Between the columns of a table."""
_NARROW = 12
"""Up to this width in columns nothing is indented."""


@lru_cache(8)  # the key line asks three times whenever another message is chosen
def code_blocks(text: str) -> list[str]:
    """The code of an answer, without that of its thought if it has more than a thought."""
    return [token.content for token in PARSER.parse(answer_of(text)) if token.type in ("fence", "code_block")]


def blocks(source: str) -> Iterator[SyntaxTreeNode]:
    """Parse; yield the top-level blocks, of a list its items."""
    for node in SyntaxTreeNode(PARSER.parse(source)).children:
        yield from node.children if node.type in _LISTS else (node,)


def first_line(node: SyntaxTreeNode) -> int:
    return node.map[0] if node.map else 0


class Page:
    """Draws the blocks of one source, in their order."""

    def __init__(self, source: str, begin: int, codes: dict[int, ColouredCode], styles: Styles = ()) -> None:
        """`begin`: offset of the source in the whole text; the lines refer to offsets in that text.

        `codes`: code by its offset in the whole text, kept for the next page. `styles`: for all text.
        """
        self._source = source
        self._begin = begin
        self._codes = codes
        self._styles = styles
        lines = source.split("\n")
        self._starts = [0, *accumulate(len(line) + 1 for line in lines)]
        self._blank = [not line.strip(" \t>") for line in lines]
        self._at = 0
        """Offset from which the next text is searched."""

    def place(self, node: SyntaxTreeNode) -> int:
        """Offset of a block in the whole text."""
        return self._begin + self._starts[first_line(node)]

    def follows_blank(self, node: SyntaxTreeNode) -> bool:
        line = first_line(node)
        return line > 0 and self._blank[line - 1]

    def lines(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        self._at = max(self._at, self._starts[first_line(node)])
        match node.type:
            case "bullet_list" | "ordered_list":
                return self._children(node, width)
            case "list_item":
                return self._item(node, width)
            case "blockquote":
                bar = (Run("▌ ", (QUOTE,)),) if width > _NARROW else ()
                return [(*bar, *line) for line in self._children(node, width - cells(bar))]
            case "fence" | "code_block":
                return self._code(node, width)
            case "table":
                return self._table(node, width)
            case "hr":
                return [(Run("─" * width, (RULE,)),)]
            case "heading":
                return wrapped(self._inline(node, (*self._styles, HEADINGS.get(node.tag, "bold"))), width)
            case _:
                return wrapped(self._inline(node, self._styles), width)

    def _children(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        """The children one below the other, with the source's empty lines between them."""
        out: list[Line] = []
        for child in node.children:
            if out and self.follows_blank(child):
                out.append(())
            out += self.lines(child, width)
        return out

    def _item(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        written = node.info + node.markup
        sign = f"{written:>3} " if node.info else " • "
        at = self._begin + self._find(written)
        bullet, rest = Run(sign, (BULLET,), at, len(written)), Run(" " * len(sign))
        if width <= _NARROW:
            return [(bullet,), *self._children(node, width)]
        inner = self._children(node, width - len(sign)) or [()]
        return [(rest if n else bullet, *line) for n, line in enumerate(inner)]

    def _code(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        first, place = first_line(node) + (node.type == "fence"), self.place(node)
        title = " ".join(node.info.split())
        language = title.partition(" ")[0]
        code = self._codes.get(place)
        if code is None or code.language != language:
            code = self._codes[place] = ColouredCode(language)
        code.show(node.content.removesuffix("\n").split("\n"))
        lines = [_title(title, place, width)]
        for number, (text, parts) in enumerate(zip(code.texts, code.lines, strict=True), first):
            self._at = self._starts[min(number, len(self._starts) - 1)]
            lines += _code_line(parts, self._begin + self._find(text), width)
        return lines

    def _table(self, node: SyntaxTreeNode, width: int) -> list[Line]:
        rows = [row.children for part in node.children for row in part.children]
        texts = [self._row(row) for part in node.children for row in part.children]
        if len(rows[0]) > (width + len(_BETWEEN)) // (1 + len(_BETWEEN)):  # not even a cell for each column
            joined = ([run for cell in row for run in (*cell, Run(" | "))][:-1] for row in texts)
            return [line for runs in joined for line in wrapped(runs, width)]
        widths = _columns([max(cells(row[n]) for row in texts) for n in range(len(rows[0]))], width)
        out: list[Line] = []
        for row, runs in zip(rows, texts, strict=True):
            columns = [
                [_aligned(line, size, str(cell.attrs.get("style", ""))) for line in wrapped(run, size)]
                for cell, run, size in zip(row, runs, widths, strict=True)
            ]
            for n in range(max(map(len, columns))):
                parts = [
                    column[n] if n < len(column) else (Run(" " * size),)
                    for column, size in zip(columns, widths, strict=True)
                ]
                out.append(tuple(run for part in parts for run in (*part, Run(_BETWEEN)))[:-1])
            if row is rows[0]:
                out.append((Run(_BETWEEN.join("─" * size for size in widths), (RULE,)),))
        return out

    def _row(self, node: SyntaxTreeNode) -> list[list[Run]]:
        """A row's cells. The last one has what stands beyond it, which Markdown would leave out."""
        out = [self._inline(cell, self._styles) for cell in node.children]
        line = slice(*self._starts[first_line(node) : first_line(node) + 2])
        for text in _PIPE.split(self._source[line].strip(" \t\n>").strip("|"))[len(out) :]:
            out[-1] += [Run(" | "), *self._found(text.strip(), text.strip(), self._styles)]
        return out

    def _inline(self, node: SyntaxTreeNode, styles: Styles) -> list[Run]:
        if node.type == "inline" and node.map:
            self._at = max(self._at, self._starts[node.map[0]])
        match node.type:
            case "text" | "text_special":
                text = node.markup if node.markup in _LATEX else node.content
                return self._found(text, node.markup or node.content, styles)
            case "code_inline":
                return self._found(node.content, node.content, (*styles, CODE))
            case "softbreak" | "hardbreak":
                return self._found("\n", "\n", styles)
            case "link" | "image":
                target = str(node.attrs.get("href") or node.attrs.get("src") or "")
                out = self._inlines(node, (*styles, LINK))
                if text_of(out) != target:
                    out += [Run(" ("), *self._found(target, target, (*styles, URL)), Run(")")]
                return out
            case kind:
                return self._inlines(node, (*styles, INLINE[kind]) if kind in INLINE else styles)

    def _inlines(self, node: SyntaxTreeNode, styles: Styles) -> list[Run]:
        return [run for child in node.children for run in self._inline(child, styles)]

    def _found(self, text: str, written: str, styles: Styles) -> list[Run]:
        """The text with its offset in the source, searched after the previous text."""
        at = self._find(written)
        if text == written and self._source.startswith(text, at):
            return _with_tabs(text, styles, self._begin + at)
        # As an entity, or in a link's address, a control character was spelled in harmless ones.
        return [Run(printable(text).replace("\t", _TAB), styles, self._begin + at, self._at - at)]

    def _find(self, written: str) -> int:
        """Offset of a text in the source; of what follows it if the source spells it differently."""
        at = self._source.find(written, self._at)
        if at < 0:
            return self._at
        self._at = at + len(written)
        return at


def _with_tabs(text: str, styles: Styles, at: int) -> list[Run]:
    if "\t" not in text:
        return [exact(text, styles, at)]
    out: list[Run] = []
    for part in text.split("\t"):
        out += [exact(part, styles, at), Run(_TAB, styles, at + len(part), 1)]
        at += len(part) + 1
    return out[:-1]


def _title(info: str, place: int, width: int) -> Line:
    """What follows the fence, such as the language, and the corner that copies the code."""
    corner = _COPY[-max(1, width) :]
    room = width - cell_len(corner)
    title = set_cell_size(f" {info}", room)
    return (Run(title, (TITLE,)), Run(corner, (CORNER, f"@copy_code({place})")))


@lru_cache(2048)
def _code_line(parts: Coloured, at: int, width: int) -> list[Line]:
    runs: list[Run] = []
    for text, style in parts:
        runs += _with_tabs(text, (BLOCK, style) if style else (BLOCK,), at)
        at += len(text)
    return [
        (Run(" ", (BLOCK,)), *line, Run(" " * (width - 1 - cells(line)), (BLOCK,)))
        for line in wrapped(runs, width - 2)
    ]


def _aligned(line: Line, size: int, style: str) -> Line:
    """A cell's line in its column; the blanks at which it was broken would move the next column."""
    line = (*line[:-1], *(run.cut(0, len(run.text.rstrip())) for run in line[-1:]))
    room = max(0, size - cells(line))
    left = room if "right" in style else room // 2 if "center" in style else 0
    return (Run(" " * left), *line, Run(" " * (room - left)))


def _columns(wanted: Sequence[int], width: int) -> list[int]:
    """Widths of a table's columns: as wanted, the widest shrunk until they fit."""
    room = width - len(_BETWEEN) * (len(wanted) - 1)
    out = [max(1, size) for size in wanted]
    while sum(out) > room and max(out) > 1:
        out[out.index(max(out))] -= 1
    return out
