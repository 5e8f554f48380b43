"""Whether and how much the model thinks: each API's words for it, as the chat template's variables."""

from typing import Any

from app.engine.chat_prompt import THINKS
from app.server.body import Body


class TemplateValues(Body):
    """The variables of chat templates that say so; `thinking` is DeepSeek's name of the first."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    reasoning_effort: str | None = None


class Effort(Body):
    effort: str | None = None


def by_switch(thinks: bool) -> dict[str, Any]:
    """On or off, under both names: a template gets those that it has."""
    return {THINKS: thinks, "thinking": thinks}


def by_effort(effort: str | None) -> dict[str, Any]:
    """`none` is no thought; templates with levels (gpt-oss) take the others."""
    if effort == "none":
        return by_switch(False)
    return {"reasoning_effort": effort} if effort else {}
