"""Takes tool calls out of an answer's text; mlx-lm's parser for the model's format reads them."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from app.engine.events import Mark, Piece, ToolCall
from app.shell.errors import BadInput

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper


class ToolCallReader:
    """Passes an answer's pieces on without the tool calls; text that may begin a call is held.

    Raises:
        BadInput: there are tools, and the model cannot call any.
    """

    def __init__(self, tokenizer: "TokenizerWrapper", tools: Sequence[dict[str, Any]]) -> None:
        if tools and not tokenizer.has_tool_calling:
            raise BadInput(
                "This model cannot call tools: mlx-lm knows no format of its calls. Send no tools."
            )
        self._tools = [*tools]
        self._parse = tokenizer.tool_parser if tools else None
        self._begin: str = tokenizer.tool_call_start or "" if tools else ""
        self._end: str = tokenizer.tool_call_end or "" if tools else ""
        """Empty: a call extends to the end of the answer."""
        self._calls: list[ToolCall] = []
        self._text = ""
        """Held text: perhaps the beginning of a call, or if `_inside`, a call so far."""
        self._inside = False

    def add(self, pieces: Iterable[Piece]) -> list[Piece]:
        if not self._begin:
            return list(pieces)
        passed = (Piece(self._pass(piece.text), piece.mark) for piece in pieces)
        return [piece for piece in passed if piece.text]

    def end(self, mark: Mark, *, cut: bool = False) -> tuple[list[Piece], tuple[ToolCall, ...]]:
        """The held text, and the calls. A call that cannot be parsed is text.

        Args:
            cut: the model was stopped before its end, so a call that is still open is text too.
        """
        rest = self._text
        if self._inside:
            self._calls += (found := [] if cut else self._read(rest))
            rest = "" if found else self._begin + rest
        return ([Piece(rest, mark)] if rest else []), tuple(self._calls)

    def _pass(self, text: str) -> str:
        self._text += text
        passed = ""
        while (mark := self._end if self._inside else self._begin) and mark in self._text:
            before, _, self._text = self._text.partition(mark)
            if not self._inside:
                passed += before
            elif found := self._read(before):
                self._calls += found
            else:
                passed += self._begin + before + self._end
            self._inside = not self._inside
        if self._inside:
            return passed
        begun = max(n for n in range(len(mark)) if self._text.endswith(mark[:n]))
        passed, self._text = passed + self._text[: len(self._text) - begun], mark[:begun]
        return passed

    def _read(self, text: str) -> list[ToolCall]:
        """The calls in a call's text; none if it cannot be parsed."""
        try:
            found = self._parse(text, self._tools)  # type: ignore[misc]
            return [_call(each) for each in (found if isinstance(found, list) else [found])]
        except MemoryError:
            raise
        except Exception:  # the model's text can make a parser fail in any way
            return []


def _call(parsed: dict[str, Any]) -> ToolCall:
    """The call as a parser gives it. Some models write the arguments as a text that holds the object."""
    name, arguments = parsed["name"], parsed["arguments"]
    if isinstance(arguments, str):
        arguments = json.loads(arguments)
    if arguments is None:
        arguments = {}
    if not isinstance(name, str) or not isinstance(arguments, dict):
        raise TypeError("no name, or arguments that are no object")
    written = json.dumps(arguments, ensure_ascii=False, allow_nan=False)
    (name + written).encode()  # fails at half a character, which no response can hold
    return ToolCall(name, written)
