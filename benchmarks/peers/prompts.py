"""The prompts of the comparison: conversations to be answered, one JSON object per line."""

import json
from dataclasses import dataclass
from pathlib import Path

from app.engine.chat_prompt import Message

PROMPTS = Path(__file__).with_name("prompts.jsonl")

GROUPS = {"in domain": ("chat", "code")}
"""Groups of categories that are also reported together, beside `all`."""


@dataclass(frozen=True, slots=True)
class PeerPrompt:
    """One conversation."""

    id: str
    category: str
    messages: tuple[Message, ...]


def read_prompts(file: Path = PROMPTS, per_category: int | None = None) -> list[PeerPrompt]:
    """The prompts in the file's order; with `per_category`, only this many of each category."""
    prompts: list[PeerPrompt] = []
    for line in file.read_text(encoding="utf-8").splitlines():
        fields = json.loads(line)
        prompt = PeerPrompt(fields["id"], fields["category"], tuple(fields["messages"]))
        before = sum(p.category == prompt.category for p in prompts)
        if per_category is None or before < per_category:
            prompts.append(prompt)
    return prompts


def groups(categories: list[str]) -> dict[str, tuple[str, ...]]:
    """Each category alone, then those of `GROUPS`, then all."""
    alone = {category: (category,) for category in categories}
    whole = {name: those for name, those in GROUPS.items() if set(those) <= set(categories)}
    return {**alone, **whole, "all": tuple(categories)}
