"""Syntax colours for growing code: only its last lines are lexed again."""

from itertools import takewhile

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

COLOURS = {
    Token.Comment: "$text-muted",
    Token.Keyword: "$text-secondary",
    Token.Operator.Word: "$text-secondary",
    Token.Name.Tag: "$text-secondary",
    Token.Name.Decorator: "$text-primary",
    Token.Name.Function: "$text-primary",
    Token.Name.Class: "$text-primary",
    Token.Name.Attribute: "$text-primary",
    Token.Literal.String: "$text-warning",
    Token.Literal.Number: "$text-warning",
    Token.Generic.Deleted: "$text-error",
    Token.Generic.Inserted: "$text-success",
    Token.Generic.Heading: "$text-primary",
}
"""Styles by Pygments token type, subtypes included. No underline or italics: those mark drafted tokens."""

STEP = 16
"""If the last `STEP` lines get the same colours when lexed alone, those above are not lexed again."""

Coloured = tuple[tuple[str, str], ...]
"""A line as (text, style) parts."""


class ColouredCode:
    def __init__(self, language: str) -> None:
        self.lines: list[Coloured] = []
        self.texts: list[str] = []
        self.language = language
        self._lexer = _lexer(language)
        self._begin = 0
        """The first line to lex again."""

    def show(self, texts: list[str]) -> None:
        """Colour these lines; unchanged ones keep their colours."""
        same = sum(
            1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(texts, self.texts, strict=False))
        )
        if same == len(texts) == len(self.texts):
            return
        self._begin = min(self._begin, same)
        self.texts = texts
        self.lines[self._begin :] = self._coloured(texts[self._begin :])
        later = len(texts) - STEP
        # They do not inside a multi-line string or comment.
        if later - self._begin >= STEP and self._coloured(texts[later:]) == self.lines[later:]:
            self._begin = later

    def _coloured(self, texts: list[str]) -> list[Coloured]:
        plain: list[Coloured] = [((text, ""),) for text in texts]
        if self._lexer is None:
            return plain
        lines: list[list[tuple[str, str]]] = [[]]
        # Some lexers colour, or even return, a line only with its end: diff, console.
        for _, kind, text in self._lexer.get_tokens_unprocessed("".join(f"{text}\n" for text in texts)):
            while kind is not None and kind not in COLOURS:
                kind = kind.parent
            style = COLOURS[kind] if kind is not None else ""
            for number, part in enumerate(text.split("\n")):
                if number:
                    lines.append([])
                last = lines[-1]
                if last and (part.isspace() or last[-1][1] == style):
                    last[-1] = last[-1][0] + part, last[-1][1]
                elif part:
                    last.append((part, style))
        coloured = [tuple(line) for line in lines[: len(texts)]]
        # A few split lines at other characters too.
        return coloured if ["".join(part for part, _ in line) for line in coloured] == texts else plain


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language)
    except ClassNotFound:
        return None
