"""A model's text as Rich Markdown that hides nothing and lets nothing through to the terminal."""

from markdown_it import MarkdownIt
from rich.markdown import Markdown

from app.shell.printable import printable

_PARSER = MarkdownIt("commonmark", {"html": False}).enable(["strikethrough", "table"]).disable("newline")

MARKDOWN_STYLES = {
    "markdown.code": "bold",
    "markdown.link": "underline",
    "markdown.link_url": "dim",
    "markdown.item.bullet": "bold",
    "markdown.item.number": "bold",
    "markdown.block_quote": "italic",
    "markdown.hr": "dim",
}
"""Rich's own have fixed colours, which do not suit every theme."""


def markdown(text: str, code_theme: str) -> Markdown:
    """Renderable Markdown: HTML is text, a line break stays one, link targets are written out."""
    out = Markdown("", code_theme=code_theme, hyperlinks=False)
    out.markup = printable(text)
    out.parsed = _PARSER.parse(out.markup)
    return out


def code_blocks(text: str) -> list[str]:
    return [token.content for token in _PARSER.parse(text) if token.type in ("fence", "code_block")]
