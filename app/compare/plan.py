"""What a comparison runs, in which order."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from app.compare.prompts import BenchPrompt
from app.engine.chat_prompt import Message
from app.settings.options import AnswerOptions
from app.shell.number_text import counted
from mlx_spec.types import MAX_DRAFT_LENGTH, DrafterName

WARM_UP_TOKENS = 24
LONGER = (10, 12, 16, 24, MAX_DRAFT_LENGTH)
"""Draft lengths to add while the longest so far is the fastest."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The options that a comparison varies."""

    drafter: DrafterName
    draft_length: int | None
    """0: no drafting; None: the engine chooses."""
    temperature: float

    @classmethod
    def of(cls, options: AnswerOptions) -> "Setting":
        if options.drafter == "none" or options.draft_length == 0:
            return cls.plain(options.temperature)
        return cls(options.drafter, options.draft_length, options.temperature)

    @classmethod
    def plain(cls, temperature: float) -> "Setting":
        """Plain decoding, the baseline."""
        return cls("none", 0, temperature)

    @property
    def drafts(self) -> bool:
        return self.drafter != "none"

    @property
    def name(self) -> str:
        """Without the temperature: `plain`, `auto`, `auto, 3 tokens`, `model, length auto`."""
        if not self.drafts:
            return "plain"
        if (self.drafter, self.draft_length) == ("auto", None):
            return "auto"
        length = "length auto" if self.draft_length is None else counted(self.draft_length, "token")
        return f"{self.drafter}, {length}"

    @property
    def label(self) -> str:
        return f"{self.name} at {self.temperature:g}" if self.temperature else self.name

    def options(self, base: AnswerOptions) -> AnswerOptions:
        return replace(
            base, drafter=self.drafter, draft_length=self.draft_length, temperature=self.temperature
        )


def plain_of(settings: Sequence[Setting], place: int) -> int:
    """Index of the plain setting at the same temperature."""
    return settings.index(Setting.plain(settings[place].temperature))


@dataclass(frozen=True, slots=True)
class Run:
    """One answer of a comparison. `prompt` and `setting` are indexes into the plan."""

    prompt: int
    setting: int
    repeat: int = 0
    warm_up: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A prompt, and everything the engine gets to answer it."""

    prompt: BenchPrompt
    messages: tuple[Message, ...]
    """The conversation, ending with the prompt."""
    documents: tuple[str, ...] = ()
    """Texts the lookup drafter may copy from."""

    @classmethod
    def of(cls, prompt: BenchPrompt, *before: Message) -> "Question":
        return cls(prompt, (*before, Message(role="user", content=prompt.prompt)))


@dataclass(frozen=True, slots=True)
class Plan:
    """Questions, settings and repeats."""

    questions: tuple[Question, ...]
    settings: tuple[Setting, ...]
    """Grouped by temperature, the plain setting first."""
    options: AnswerOptions
    """The options that no setting varies, such as the seed."""
    repeats: int
    timed: bool = True
    """Speeds count: every setting is warmed up, and `run_plan` prefills every run's whole prompt."""
    climbs: bool = False
    """Longer draft lengths are added while they are faster."""
    complete: int = 0
    """Settings whose runs were all finished before the last longer ones were added."""

    @property
    def runs(self) -> Iterator[Run]:
        return self.runs_of(range(len(self.settings)))

    def runs_of(self, places: Sequence[int]) -> Iterator[Run]:
        """Every second repeat is in reverse order, so that a drift in speed favours no setting."""
        for place in places if self.timed else ():
            yield Run(0, place, warm_up=True)
        for prompt in range(len(self.questions)):
            for repeat in range(self.repeats):
                for place in places if repeat % 2 == 0 else reversed(places):
                    yield Run(prompt, place, repeat)

    @property
    def count(self) -> int:
        return len(self.questions) * len(self.settings) * self.repeats

    def options_of(self, run: Run) -> AnswerOptions:
        options = self.settings[run.setting].options(self.options)
        tokens = min(WARM_UP_TOKENS, options.max_tokens) if run.warm_up else options.max_tokens
        return replace(options, max_tokens=tokens)

    def longer(self, speed: Callable[[int], float]) -> "Plan | None":
        """The plan plus the next length for each drafter and temperature that was fastest with its longest.

        `speed`: setting index to tokens per second. None if there is nothing to add.
        """
        if not self.climbs:
            return None
        speeds: dict[Setting, dict[int, float]] = {}
        for place, one in enumerate(self.settings):
            if one.draft_length:
                kind = replace(one, draft_length=None)
                speeds.setdefault(kind, {})[one.draft_length] = speed(place)
        added: list[Setting] = []
        for kind, by_length in speeds.items():
            longest = max(by_length)
            longer = [length for length in LONGER if length > longest]
            if longer and max(by_length, key=by_length.__getitem__) == longest:
                added.append(replace(kind, draft_length=longer[0]))
        if not added:
            return None
        return replace(self, settings=(*self.settings, *added), complete=len(self.settings))


def plan(
    questions: Sequence[Question],
    drafting: Sequence[Setting],
    options: AnswerOptions,
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
