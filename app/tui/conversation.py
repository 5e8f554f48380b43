"""The conversation as the screen keeps it: it outlives the engine process."""

from dataclasses import dataclass, field

from app.chat_prompt import Message


@dataclass(slots=True)
class Turn:
    """A prompt and what came back."""

    prompt: str
    answer: str | None = None
    """None while nothing came back; a stopped answer is kept as far as it went."""


@dataclass(slots=True)
class Conversation:
    """Turns, oldest first."""

    system: str = ""
    """Instructions that precede every turn; empty for none."""
    turns: list[Turn] = field(default_factory=list)

    @property
    def last(self) -> Turn | None:
        return self.turns[-1] if self.turns else None

    def messages(self) -> list[Message]:
        """What the model reads to answer the last prompt: all before it, then the prompt alone."""
        out: list[Message] = []
        if self.system:
            out.append({"role": "system", "content": self.system})
        for turn in self.turns[:-1]:
            out.append({"role": "user", "content": turn.prompt})
            out.append({"role": "assistant", "content": turn.answer or ""})
        if self.turns:
            out.append({"role": "user", "content": self.turns[-1].prompt})
        return out

    def forget(self, turn: Turn) -> None:
        """Take a turn out that came to nothing."""
        self.turns = [kept for kept in self.turns if kept is not turn]
