"""The messages of a conversation, and plainer forms of them for templates that refuse what agents send."""

from collections.abc import Iterator, Sequence
from hashlib import sha256
from typing import Any, NotRequired, cast

from typing_extensions import TypedDict  # of typing, pydantic reads it from Python 3.12 on


class Message(TypedDict):
    role: str
    """`system`, `user`, `assistant`, or `tool` for a tool's result."""
    content: str
    reasoning_content: NotRequired[str]
    """The thought before an assistant's answer; templates show it to the model or leave it out."""
    tool_calls: NotRequired[list[dict[str, Any]]]
    """The assistant's calls in OpenAI's format, the arguments as an object."""
    tool_call_id: NotRequired[str]
    name: NotRequired[str]


def plainer_ones(messages: Sequence[Message]) -> Iterator[Sequence[Message]]:
    """The conversation, then forms of it that more and more templates accept."""
    yield messages
    if (plain := _in_plain_order(messages)) != list(messages):
        yield plain
    if any(message["role"] == "tool" or "tool_calls" in message for message in plain):
        yield (named := [_with_nine_letters(message) for message in plain])
        yield (answered := _answered_after_results(named))
        yield _one_call_each(answered)


def _in_plain_order(messages: Sequence[Message]) -> list[Message]:
    """The conversation with its only system message at the beginning, and no two of the user in a row.

    Agents send instructions between messages too, as system messages, which many templates refuse (those of
    Qwen3.5). They become the user's.
    """
    plain: list[Message] = []
    for message in messages:
        role = message["role"]
        if role == "system" and any(earlier["role"] != "system" for earlier in plain):
            role = "user"
        if role in ("system", "user") and plain and plain[-1]["role"] == role:
            plain[-1] = {**plain[-1], "content": f"{plain[-1]['content']}\n\n{message['content']}"}
        else:
            plain.append({**message, "role": role})
    return plain


def _with_nine_letters(message: Message) -> Message:
    """Mistral's templates refuse other ids of calls."""
    named = cast("Message", dict(message))
    if "tool_call_id" in message:
        named["tool_call_id"] = _nine_letters(message["tool_call_id"])
    if calls := message.get("tool_calls"):
        named["tool_calls"] = [{**call, "id": _nine_letters(call.get("id") or "")} for call in calls]
    return named


def _answered_after_results(messages: Sequence[Message]) -> list[Message]:
    """With an answer where the user speaks after a tool's result, as Mistral's roles must alternate."""
    out: list[Message] = []
    for message in messages:
        if message["role"] == "user" and out and out[-1]["role"] == "tool":
            out.append(Message(role="assistant", content=""))
        out.append(message)
    return out


def _nine_letters(id: str) -> str:  # noqa: A002
    return id if len(id) == 9 and id.isalnum() else sha256(id.encode()).hexdigest()[:9]


def _one_call_each(messages: Sequence[Message]) -> list[Message]:
    """Each call in a message of its own before its result, for Llama's templates."""
    out: list[Message] = []
    results = [message for message in messages if message["role"] == "tool"]
    for message in messages:
        if message["role"] == "tool" and message not in results:
            continue
        calls = message.get("tool_calls") or []
        if len(calls) < 2:
            out.append(message)
            continue
        for call in calls:
            out.append({**message, "tool_calls": [call]})
            for result in [each for each in results if each.get("tool_call_id") == call["id"]][:1]:
                results.remove(result)
                out.append(result)
    return out
