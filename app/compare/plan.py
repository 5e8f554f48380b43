"""What a comparison runs, in which order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.compare.prompts import BenchPrompt
from app.engine.chat_prompt import Message
from app.shell.number_text import counted
from mlx_spec.types import MAX_DRAFT_LENGTH, DrafterName, Options

WARM_UP_TOKENS = 24
LONGER = (10, 12, 16, 24, MAX_DRAFT_LENGTH)
"""Lengths that follow while the curve still rises."""


@dataclass(frozen=True, slots=True)
class Setting:
    """One way of answering: what a comparison varies."""

    drafter: DrafterName
    draft_length: int | None
    """0 where nothing is drafted; None leaves it to the engine."""
    temperature: float

    @classmethod
    def of(cls, options: Options) -> "Setting":
        if options.drafter == "none" or options.draft_length == 0:
            return cls.plain(options.temperature)
        return cls(options.drafter, options.draft_length, options.temperature)

    @classmethod
    def plain(cls, temperature: float) -> "Setting":
        """Decoding without drafting: what the others are compared with."""
        return cls("none", 0, temperature)

    @property
    def drafts(self) -> bool:
        return self.drafter != "none"

    @property
    def name(self) -> str:
        """Without the temperature: `plain`, `auto`, `3 tokens`, `model, 3 tokens`, `model, length auto`."""
        if not self.drafts:
            return "plain"
        length = "length auto" if self.draft_length is None else counted(self.draft_length, "token")
        if self.drafter == "auto":
            return "auto" if self.draft_length is None else length
        return f"{self.drafter}, {length}"

    @property
    def label(self) -> str:
        return f"{self.name} at {self.temperature:g}" if self.temperature else self.name

    def options(self, base: Options) -> Options:
        return replace(
            base, drafter=self.drafter, draft_length=self.draft_length, temperature=self.temperature
        )


def plain_of(settings: Sequence[Setting], place: int) -> int:
    """Place of the plain setting at the same temperature."""
    return settings.index(Setting.plain(settings[place].temperature))


@dataclass(frozen=True, slots=True)
class Run:
    """One answer of a comparison. `prompt` and `setting` are places in the plan."""

    prompt: int
    setting: int
    repeat: int = 0
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and all that the engine is given to answer it."""

    prompt: BenchPrompt
    messages: tuple[Message, ...]
    """What the model reads, the prompt at the end."""
    documents: tuple[str, ...] = ()
    """Texts the lookup drafter may copy from."""

    @classmethod
    def of(cls, prompt: BenchPrompt, *before: Message) -> "Question":
        return cls(prompt, (*before, Message(role="user", content=prompt.prompt)))


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions, ways to answer them, and how often."""

    questions: tuple[Question, ...]
    settings: tuple[Setting, ...]
    """For every temperature the plain one first."""
    options: Options
    """All that the settings leave as it is, the seed among it."""
    repeats: int
    timed: bool = True
    """Speeds count: every setting is warmed up, and every run in this process reads its prompt anew."""
    climbs: bool = False
    """Greater lengths follow while they are faster."""

    @property
    def runs(self) -> Iterator[Run]:
        return self.runs_of(range(len(self.settings)))

    def runs_of(self, places: Sequence[int]) -> Iterator[Run]:
        """One after the other; every second repeat in the other order, so that a drift favours none."""
        for place in places if self.timed else ():
            yield Run(0, place, warm_up=True)
        for prompt in range(len(self.questions)):
            for repeat in range(self.repeats):
                for place in places if repeat % 2 == 0 else reversed(places):
                    yield Run(prompt, place, repeat)

    @property
    def count(self) -> int:
        return len(self.questions) * len(self.settings) * self.repeats

    def options_of(self, run: Run) -> Options:
        options = self.settings[run.setting].options(self.options)
        return (
            replace(options, max_tokens=min(WARM_UP_TOKENS, options.max_tokens)) if run.warm_up else options
        )

    def longer(self, speed: Callable[[int], float]) -> "Plan | None":
        """With a greater length for each drafter and temperature that was fastest with its greatest so far.

        `speed`: tokens per second of the setting at a place. None where nothing rises any more.
        """
        if not self.climbs:
            return None
        added: list[Setting] = []
        kinds = dict.fromkeys(replace(one, draft_length=None) for one in self.settings if one.drafts)
        for kind in kinds:
            lengths = {
                one.draft_length: speed(place)
                for place, one in enumerate(self.settings)
                if one.draft_length and replace(one, draft_length=None) == kind
            }
            greatest = max(lengths, default=0)
            best = max(lengths, key=lambda length: lengths[length], default=0)
            if greatest and best == greatest and (next_ := [n for n in LONGER if n > greatest]):
                added.append(replace(kind, draft_length=next_[0]))
        return replace(self, settings=(*self.settings, *added)) if added else None


def plan(
    questions: Sequence[Question],
    drafting: Sequence[Setting],
    options: Options,
    repeats: int,
    *,
    timed: bool = True,
    climbs: bool = False,
) -> Plan:
    """Compare these settings with plain decoding at each of their temperatures."""
    settings: list[Setting] = []
    for temperature in dict.fromkeys(setting.temperature for setting in drafting):
        settings.append(Setting.plain(temperature))
        settings += [s for s in dict.fromkeys(drafting) if s.drafts and s.temperature == temperature]
    return Plan(tuple(questions), tuple(settings), options, repeats, timed, climbs)
