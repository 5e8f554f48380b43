"""A pair whose engine gives scripted rounds, and a tokenizer of bytes."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, cast

from app.engine.session import Session
from app.settings.options import AnswerOptions
from mlx_spec.errors import ContextFull
from mlx_spec.text import Read, Text
from mlx_spec.types import Likeliness, Round
from mlx_spec.verify.verifiers import Verifier

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

STOP = 256


class ByteTokenizer:
    """One token per byte, so every non-ASCII character spans several tokens."""

    bos_token: str | None = None
    has_chat_template = True
    chat_template: str | None = None
    think_start: str | None = None
    think_end: str | None = None
    response_transitions: dict[str, list[tuple[str, str]]] = {}
    response_initial_state: str | None = None
    has_tool_calling = False

    def encode(self, text: str, add_special_tokens: bool = True) -> list[int]:
        return list(text.encode())

    def decode(self, ids: Sequence[int], clean_up_tokenization_spaces: bool = False) -> str:
        return bytes(i for i in ids if i < STOP).decode("utf-8", "replace")

    def apply_chat_template(
        self, messages: Sequence[dict[str, str]], add_generation_prompt: bool
    ) -> list[int]:
        return self.encode("".join(f"<{m['role']}>{m['content']}" for m in messages))


@dataclass
class ScriptedEngine:
    """Plays the same answer for every prompt, cut into drafted rounds."""

    answer: Sequence[int]
    draft_length: int = 0
    context_limit: int = 10_000
    drafter_names: Sequence[str] = ("lookup", "model")
    prompts: list[list[int]] = field(default_factory=list)
    options: list[AnswerOptions] = field(default_factory=list)
    documents: list[list[list[int]]] = field(default_factory=list)
    cancelled: int = 0

    def rows(self) -> "ScriptedRows":
        return ScriptedRows(self)


class ScriptedRows:
    """One round per step, after a prefill of three steps."""

    closed = False

    def __init__(self, engine: ScriptedEngine) -> None:
        self._engine = engine
        self._steps: Iterator[Read] = iter(())

    def add(
        self,
        prompt: Sequence[int],
        options: AnswerOptions,
        *,
        documents: Sequence[Sequence[int]],
        progress: Callable[[int, int], None],
        likeliest: int | None,
        streamed: bool,
    ) -> Text:
        engine = self._engine
        if len(prompt) >= engine.context_limit:
            raise ContextFull(len(prompt), engine.context_limit)
        engine.prompts.append(list(prompt))
        engine.options.append(options)
        engine.documents.append([list(d) for d in documents])
        verifier = Verifier(options, STOP + 1)
        text = Text(list(prompt), options, engine.context_limit, verifier, likeliest=likeliest)
        self._steps = self._played(text, progress)
        return text

    def step(self) -> Read:
        return next(self._steps)

    def cancel(self, text: Text) -> None:
        self._engine.cancelled += 1

    def _played(self, text: Text, progress: Callable[[int, int], None]) -> Iterator[Read]:
        length, options, draft_length = len(text.tokens), text.options, self._engine.draft_length
        for done in range(0, length + 1, max(1, length // 2)):
            progress(done, length)
            yield []
        left = list(self._engine.answer)[: options.max_tokens]
        while left:
            tokens, left = tuple(left[: draft_length + 1]), left[draft_length + 1 :]
            stop = None if left else ("stop" if tokens[-1] in options.stop_tokens else "length")
            drafted = tokens[:-1] + (0,) * (draft_length - len(tokens) + 1)
            name = "model" if drafted else "none"
            played = Round(drafted, len(tokens) - 1 if drafted else 0, tokens, name, 0.01, stop)
            if text.likeliest is not None:
                played = replace(played, likeliness=tuple(Likeliness(-t / 1, ((t, -t / 1),)) for t in tokens))
            yield [(text, played)]


@dataclass
class _Source:
    repo: str


@dataclass
class _Spec:
    name: str
    target: _Source
    draft: _Source | None


@dataclass
class ScriptedPair:
    """The attributes of a loaded pair that a session uses."""

    engine: ScriptedEngine
    tokenizer: ByteTokenizer = field(default_factory=ByteTokenizer)
    context_limit: int = 10_000
    stop_tokens: frozenset[int] = frozenset({STOP})
    memory_bytes: int = 1000
    spec: _Spec = field(default_factory=lambda: _Spec("scripted", _Source("t"), _Source("d")))


def scripted_session(
    answer: str | Sequence[int], draft_length: int = 0, **pair: object
) -> tuple[Session, ScriptedEngine]:
    """A session whose model always says `answer`; a text is followed by the stop token."""
    tokens = [*answer.encode(), STOP] if isinstance(answer, str) else answer
    engine = ScriptedEngine(tokens, draft_length)
    return Session(cast("LoadedPair", ScriptedPair(engine, **pair))), engine  # type: ignore[arg-type]
