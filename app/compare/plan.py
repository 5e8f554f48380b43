"""What a comparison runs, in which order."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

from app.compare.bench.prompts import BenchPrompt
from app.compare.setting import Setting
from app.engine.chat_prompt import Message
from mlx_spec.types import Options

WARM_UP_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Run:
    """One answer of a comparison. `prompt` and `setting` are places in the plan."""

    kind: Literal["warm-up", "counted"]
    prompt: int
    setting: int
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and all that the engine is given to answer it."""

    prompt: BenchPrompt
    messages: tuple[Message, ...]
    """What the model reads, the prompt at the end."""
    documents: tuple[str, ...] = ()
    """Texts the lookup drafter may copy from."""


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions, ways to answer them, and how often."""

    questions: tuple[Question, ...]
    settings: tuple[Setting, ...]
    """For every temperature the plain one first."""
    options: Options
    """All that the settings leave as it is, the seed among it."""
    repeats: int

    @property
    def prompts(self) -> tuple[BenchPrompt, ...]:
        return tuple(question.prompt for question in self.questions)

    @property
    def runs(self) -> Iterator[Run]:
        """One after the other; every second repeat in the other order, so that a drift favours none.

        Each setting is warmed up once; a prompt is read by its first run, outside of decoding's time.
        """
        places = range(len(self.settings))
        for place in places:
            yield Run("warm-up", 0, place)
        for prompt in range(len(self.questions)):
            for repeat in range(self.repeats):
                for place in places if repeat % 2 == 0 else reversed(places):
                    yield Run("counted", prompt, place, repeat)

    @property
    def count(self) -> int:
        """How many runs there are, warm-ups left out."""
        return len(self.questions) * len(self.settings) * self.repeats


def plan(
    questions: Sequence[Question],
    drafting: Sequence[Setting],
    options: Options,
    repeats: int,
) -> Plan:
    """Compare these settings with plain decoding at each of their temperatures."""
    settings: list[Setting] = []
    for temperature in dict.fromkeys(setting.temperature for setting in drafting):
        settings.append(Setting.plain(temperature))
        settings += [s for s in dict.fromkeys(drafting) if s.drafts and s.temperature == temperature]
    return Plan(
        questions=tuple(questions),
        settings=tuple(settings),
        options=options,
        repeats=repeats,
    )
