"""How a model parts its answer: the marks of its thought and of its tool calls, and what reads a call.

mlx-lm knows most formats. Those that it does not know are here: gpt-oss' channels, Llama's bare JSON, and
JSON between other marks.
"""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Literal, cast

from app.engine.marks import ANALYSIS, MESSAGE, THOUGHTS
from app.shell.errors import BadField

if TYPE_CHECKING:
    from mlx_lm.tokenizer_utils import TokenizerWrapper

State = Literal["text", "thought", "call", "call in thought", "header"]
Edges = Mapping[State, Sequence[tuple[str, State]]]
"""By state: the marks that end it, and the state that each begins."""

_CHANNELS: Edges = {
    "header": ((ANALYSIS, "thought"), ("to=", "call"), (MESSAGE, "text")),
    "thought": (("<|end|>", "header"), ("<|start|>", "header")),
    "text": (("<|end|>", "header"), ("<|start|>", "header")),
    "call": (("<|call|>", "header"), ("<|end|>", "header")),
}
"""gpt-oss: a message has a header with its channel and, of a call, the recipient: `to=functions.NAME`."""
_MLX_STATES: Mapping[str, State] = {
    "normal": "text", "reasoning": "thought", "tool": "call", "header": "header",
}  # fmt: skip

ONLY_FIRST = frozenset({"{", *(begin for begin, _ in THOUGHTS)})
"""Marks that are text where the answer has begun already: a thought's may be quoted."""
KEPT = frozenset({"{", "<function="})
"""Marks that are a part of the call."""

_GLM_ARGUMENT = re.compile(r"<arg_key>(.*?)</arg_key>\s*<arg_value>(.*?)</arg_value>", re.DOTALL)
_MINIMAX_ARGUMENT = re.compile(r"""<parameter name=["']?(.*?)["']?>(.*?)</parameter>""", re.DOTALL)

Parse = Callable[[str, list[dict[str, Any]]], Any]


@dataclass(frozen=True)
class AnswerFormat:
    edges: Edges
    begin: State = "text"
    parse: Parse | None = None
    """Reads the text of a call, None if there are none; it may fail in any way."""


def format_of(tokenizer: "TokenizerWrapper", *, can_call: bool) -> AnswerFormat:
    """The model's format; without calls, if the model is given no tools. BadInput if it cannot call any."""
    template = template_of(tokenizer)
    if ANALYSIS in template:
        return AnswerFormat(_CHANNELS, "header", _parse_channel)
    begin, end, parse = _calls(tokenizer, template) if can_call else ((), "", None)
    if can_call and not begin:
        raise BadField(
            "tools", "This model cannot call tools: the format of its calls is not known. Send no tools."
        )
    if moves := tokenizer.response_transitions:  # Muse Spark
        known: dict[State, list[tuple[str, State]]] = {
            _MLX_STATES[state]: [(mark, _MLX_STATES[to]) for mark, to in marks if can_call or to != "tool"]
            for state, marks in moves.items()
        }
        return AnswerFormat(
            {**known, "call": [(end, "header")]},
            _MLX_STATES[tokenizer.response_initial_state or "normal"],
            parse,
        )
    think, close = thought_marks(tokenizer)
    edges: dict[State, list[tuple[str, State]]] = {
        "text": [(think, "thought"), *((mark, "call") for mark in begin)],
        "thought": [(close, "text"), *((mark, "call in thought") for mark in begin[:1] if end)],
        "call": [(end, "text")] if end else [],
        "call in thought": [(end, "thought"), (close, "text")],  # a thought may only speak of calls
    }
    return AnswerFormat(edges, "text", parse)


def template_of(tokenizer: "TokenizerWrapper") -> str:
    template: str | dict[str, str] | None = tokenizer.chat_template
    if isinstance(template, dict):  # older models have several; transformers takes this one for tools
        return template.get("tool_use") or template.get("default") or ""
    return template or ""


def thought_marks(tokenizer: "TokenizerWrapper") -> tuple[str, str]:
    """The marks of a thought; a model that has none writes them as text if at all."""
    if tokenizer.think_start is not None and tokenizer.think_end is not None:
        return tokenizer.think_start, tokenizer.think_end
    template = template_of(tokenizer)
    return next((marks for marks in THOUGHTS if marks[1] in template), THOUGHTS[0])


OPENING = 16
"""Tokens at the end of a prompt among which an opened thought is looked for."""


def opened_thought(tokenizer: "TokenizerWrapper", end: str) -> str:
    """The mark at the end of a prompt by which the answer begins inside a thought; empty: it does not."""
    before, mark, after = end.rpartition(thought_marks(tokenizer)[0])
    return mark + after if mark and not after.strip() else ""


def _calls(tokenizer: "TokenizerWrapper", template: str) -> tuple[Sequence[str], str, Parse | None]:
    """The marks that begin a call, the one that ends it (empty: the answer's end), and what reads it."""
    if tokenizer.has_tool_calling:
        begin, parse = tokenizer.tool_call_start or "", cast("Parse", tokenizer.tool_parser)
        if begin == "[TOOL_CALLS]":
            parse = partial(_parse_mistral, parse)
        elif "<arg_key>" in template or begin == "<minimax:tool_call>":
            parse = partial(_parse_tags, parse)
        # Qwen3-Coder often leaves out what comes before it.
        more = ("<function=",) if "<function=" in template else ()
        return (begin, *more), tokenizer.tool_call_end or "", parse
    for name in ("tool_call", "TOOLCALL"):  # SmolLM3, Nemotron
        if f"<{name}>" in template:
            return (f"<{name}>",), f"</{name}>", parse_json
    if '"parameters": ' in template and ("<|eot_id|>" in template or "<|eot|>" in template):
        return ("<|python_tag|>", "{"), "", _parse_llama  # Llama 3.1 and newer
    return (), "", None


def _parse_channel(text: str, tools: list[dict[str, Any]]) -> dict[str, Any]:
    recipient, _, arguments = text.partition(MESSAGE)
    name = recipient.split("<|")[0].split()[0].removeprefix("functions.")
    return {"name": name, "arguments": json.loads(arguments, strict=False) if arguments.strip() else {}}


def _parse_mistral(parse: Parse, text: str, tools: list[dict[str, Any]]) -> Any:
    """Mistral Small 3.2 writes an id between name and arguments, which mlx-lm takes for the name."""
    calls = _listed(parse(re.sub(r"\[CALL_ID\]\w*", "", text), tools))
    ids = re.findall(r"\[CALL_ID\](\w+)", text)
    return [{**call, "id": id} for call, id in zip(calls, ids, strict=True)] if ids else calls  # noqa: A001


def _parse_tags(parse: Parse, text: str, tools: list[dict[str, Any]]) -> Any:
    """mlx-lm strips the texts of GLM and MiniMax: code would lose its indent and its last line break."""
    calls = _listed(parse(text, tools))
    for call, written in zip(
        calls, re.findall(r"<invoke .*?</invoke>", text, re.DOTALL) or [text], strict=True
    ):
        for key, value in _GLM_ARGUMENT.findall(written) + _MINIMAX_ARGUMENT.findall(written):
            if isinstance(call["arguments"].get(key), str):
                call["arguments"][key] = value
    return calls


def _listed(found: Any) -> list[dict[str, Any]]:
    return found if isinstance(found, list) else [found]


def parse_json(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Calls as JSON: an object, several with `;` between them, or a list. Llama writes "parameters"."""
    decode = json.JSONDecoder(strict=False).raw_decode
    found: list[dict[str, Any]] = []
    rest = text.strip()
    while rest:
        value, end = decode(rest)
        found += value if isinstance(value, list) else [value]
        rest = rest[end:].lstrip("; \n")
    return [
        {"name": call["name"], "arguments": call["parameters"] if "parameters" in call else call["arguments"]}
        for call in found
    ]


def _parse_llama(text: str, tools: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Nothing marks these calls: JSON that names no tool is an answer."""
    calls = parse_json(text, tools)
    if not {call["name"] for call in calls} <= {tool["function"]["name"] for tool in tools}:
        raise ValueError("no such tool")
    return calls
