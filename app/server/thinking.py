"""Whether and how much the model thinks: each API's words for it, as the chat template's variables."""

from typing import Any

from app.engine.chat_prompt import by_think
from app.server.body import Body
from app.settings.options import AUTO


class TemplateValues(Body):
    """The variables of chat templates that say so; `thinking` is DeepSeek's name of the first."""

    enable_thinking: bool | None = None
    thinking: bool | None = None
    reasoning_effort: str | None = None


class Effort(Body):
    effort: str | None = None


def by_effort(effort: str | None) -> dict[str, Any]:
    """`none` is no thought; templates with levels (gpt-oss) take the others."""
    return by_think("off" if effort == "none" else effort or AUTO)
