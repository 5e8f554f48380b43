"""Parts an answer as it comes: the model's thought, its text, and its tool calls."""

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from app.engine.answer_format import KEPT, ONLY_FIRST, AnswerFormat, State, format_of
from app.engine.events import Mark, Piece, ToolCall
from app.engine.fitting import fitted
from app.engine.marks import MESSAGE

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper


CALLS: tuple[State, ...] = ("call", "call in thought")
THOUGHT: tuple[State, ...] = ("thought", "call in thought")
MOST_BLANKS = 2
"""Characters before a thought: GLM begins with a line break."""
LONGEST_HEADER = 200
"""Characters of a header before the mark that says what it is of; they are 40, or more with a tool's name."""


class AnswerReader:
    """Passes an answer's pieces on without marks and tool calls; text that may begin a mark is held.

    Args:
        parts: if False and there are no tools, the pieces are passed on as they are.

    Raises:
        BadInput: there are tools, and the model cannot call any.
    """

    def __init__(
        self, tokenizer: "TokenizerWrapper", tools: Sequence[dict[str, Any]], *, parts: bool = True
    ) -> None:
        self._tools = [*tools]
        self._format = format_of(tokenizer, can_call=bool(tools)) if parts or tools else AnswerFormat({})
        self._state: State = self._format.begin
        self._calls: list[ToolCall] = []
        self._held = ""
        """Text that may begin a mark; in a call, the call so far."""
        self._mark = ""
        """What began the call."""
        self._blanks = {True: "", False: ""}
        """Of the thought and of the text: blanks that are shown only if more follows."""
        self._said = {True: False, False: False}
        """Whether there was more than blanks in a thought, and outside of thoughts and calls."""
        self._waits, self._drops = True, False
        """What to do with blanks that come next: keep them until text follows; leave them out."""
        self._known = ""
        """What the request gave of the text that comes next, so that it is not shown."""

    def begin(self, text: str) -> None:
        """Read the beginning of the answer that the request gives."""
        self.add([Piece(text, "plain")])
        begun = (self._mark if self._state in CALLS else "") + self._held
        self._known = self._blanks[self._state in THOUGHT] + begun

    def add(self, pieces: Iterable[Piece]) -> list[Piece]:
        if not self._format.edges:
            return list(pieces)
        return [passed for piece in pieces for passed in self._pass(piece.text, piece.mark)]

    def unseen_in(self, text: str) -> tuple[int, bool]:
        """How much of the text that comes next is of a thought, a mark or a header, with the blanks after it;
        whether more text may show that it begins a mark, or is blanks before a thought.
        """
        whole = self._held + text
        if self._state in THOUGHT:
            seen = (whole.partition(mark)[2] for mark, to in self._marks if to == "text")
            return len(text) - len(max(seen, key=len, default="").lstrip()), False
        if self._state == "header" and self._mark:
            return len(text), False
        if self._state == "header":  # the first: without a mark the text is not in the model's format
            found = any(mark in whole for mark, _ in self._marks)
            return len(text) if found else 0, not found and len(whole) < LONGEST_HEADER
        begun, marks = whole.lstrip(), [(mark, to) for mark, to in self._marks if to not in CALLS]
        blanks = len(text) - len(text.lstrip()) if self._drops else 0
        if blanks == len(text) or any(begun.startswith(mark) for mark, _ in marks):
            return len(text), False
        may = [to for mark, to in marks if mark.startswith(begun)]
        return blanks, bool(may if begun else "thought" in may and len(whole) <= MOST_BLANKS)

    def end(
        self, mark: Mark, *, cut: bool = False, stopped_at: str | None = None
    ) -> tuple[list[Piece], tuple[ToolCall, ...]]:
        """The held text, and the calls. A call that cannot be parsed is text.

        Args:
            cut: the model was stopped before its end, so a call that is still open is text too.
            stopped_at: the stop text that ended the answer. It cuts a call too, unless it is the call's end.
        """
        if stopped_at and (ends := self._format.edges.get(self._state)):
            cut = cut or not any(end in stopped_at for end, _ in ends)
        rest, self._held = self._held, ""
        out: list[Piece] = []
        if self._state in CALLS:
            out = self._called(rest, "", mark, cut=cut)
        elif self._state == "header" and not self._mark and rest.strip():
            out = self._new(rest, mark)  # not in the model's format
        else:
            out = self._show(rest, mark)
            if self._state == "text" and not self._calls and self._blanks[False]:
                out += self._new(self._blanks[False], mark)
        return out, tuple(self._calls)

    def _pass(self, text: str, mark: Mark) -> list[Piece]:
        self._held += text
        out: list[Piece] = []
        while found := self._next_mark():
            at, ended_by, state = found
            before, self._held = self._held[:at], self._held[at + len(ended_by) :]
            if self._state in CALLS:
                is_left = self._state == "call in thought" and state == "text"
                out += self._called(before, "" if is_left else ended_by, mark)
            else:
                out += self._show(before, mark)
            self._enter(state, ended_by)
        if self._state not in (*CALLS, "header"):
            begun = self._begun_mark()
            shown, self._held = self._held[: len(self._held) - begun], self._held[len(self._held) - begun :]
            out += self._show(shown, mark)
        return out

    def _enter(self, state: State, mark: str) -> None:
        before, self._state, self._mark = self._state, state, mark
        if mark in KEPT:
            self._held, self._mark = mark + self._held, ""
        if state not in CALLS:
            self._known = ""
        if state == "thought" != before and before != "call in thought":
            if not self._said[False]:
                self._blanks[False] = ""
            self._drops, self._blanks[True] = True, "\n\n" if self._said[True] else ""
        elif state == "text" and before in THOUGHT:
            self._drops = True
        elif state == "header" and before == "text" and self._said[False]:
            self._waits, self._blanks[False] = True, "\n\n"

    @property
    def _marks(self) -> list[tuple[str, State]]:
        marks = self._format.edges.get(self._state, ())
        return [(mark, to) for mark, to in marks if not (mark in ONLY_FIRST and self._said[False])]

    def _next_mark(self) -> tuple[int, str, State] | None:
        """The first mark in the held text: where, which, and the state that it begins."""
        places: list[tuple[int, str, State]] = []
        for mark, to in self._marks:
            if (at := self._held.find(mark)) >= 0 and self._may_stand(mark, at):
                places.append((at, mark, to))
        return min(places, key=lambda place: (place[0], -len(place[1])), default=None)

    def _begun_mark(self) -> int:
        """How much of the end of the held text may begin a mark."""
        held = self._held
        lengths = (n for mark, _ in self._marks for n in range(1, len(mark))
                   if held.endswith(mark[:n]) and self._may_stand(mark, len(held) - n))  # fmt: skip
        return max(lengths, default=0)

    def _may_stand(self, mark: str, at: int) -> bool:
        return self._state != "text" or mark not in ONLY_FIRST or not self._held[:at].strip()

    def _show(self, text: str, mark: Mark) -> list[Piece]:
        if self._state == "header":
            return []
        thought = self._state in THOUGHT
        if self._drops:
            text = text.lstrip()
            self._drops = not text
        text = self._blanks[thought] + text
        # Templates put blanks of their own before calls.
        holds = thought or self._format.parse is not None
        shown = text.rstrip() if holds else text if text.strip() or not self._waits else ""
        self._blanks[thought] = text[len(shown) :]
        if not shown:
            return []
        self._said[thought] = True
        self._waits = self._waits and thought
        return self._new(shown, mark, thought)

    def _new(self, text: str, mark: Mark, thought: bool = False) -> list[Piece]:
        text, self._known = text.removeprefix(self._known), ""
        return [Piece(text, mark, thought)] if text else []

    def _called(self, text: str, end: str, mark: Mark, *, cut: bool = False) -> list[Piece]:
        """Take a call; what cannot be read is shown as it was written."""
        if found := [] if cut else self._read(text):
            self._calls += found
            if self._state == "call":
                self._waits, self._blanks[False] = True, ""
            return []
        written = text.partition(MESSAGE)[2] if "header" in self._format.edges else self._mark + text + end
        return self._show(written, mark)

    def _read(self, text: str) -> list[ToolCall]:
        """The calls in a call's text; none if it cannot be parsed."""
        try:
            found = self._format.parse(text, self._tools)  # type: ignore[misc]
            return [self._call(each) for each in (found if isinstance(found, list) else [found])]
        except MemoryError:
            raise
        except Exception:  # the model's text can make a parser fail in any way
            return []

    def _call(self, parsed: dict[str, Any]) -> ToolCall:
        """The call as a parser gives it. Some models write the arguments as a text that holds the object."""
        name, arguments = parsed["name"], parsed["arguments"]
        if isinstance(arguments, str):
            arguments = json.loads(arguments)
        if arguments is None:
            arguments = {}
        if not isinstance(name, str) or not isinstance(arguments, dict):
            raise TypeError("no name, or arguments that are no object")
        written = json.dumps(fitted(name, arguments, self._tools), ensure_ascii=False, allow_nan=False)
        (name + written).encode()  # fails at half a character, which no response can hold
        return ToolCall(name, written, str(parsed.get("id") or ""))
