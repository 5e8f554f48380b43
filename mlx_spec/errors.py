"""What can go wrong in the engine, by what the caller can do about it.

SpecError
├── BadOption           an option cannot be used: change it
│   ├── OutOfRange      its value is out of range
│   └── NoDrafter       the pair has no drafter of this name
├── ContextFull         the prompt leaves no room in the model's context: shorten it
├── UnsupportedModel    a model cannot be rewound, or does not fit the target: choose another
└── RankLost            one of several Macs is gone, or wrote something else: start all again
"""


class SpecError(Exception):
    """Root of the engine's errors. The message is for the user: what, the value, what to do."""


class BadOption(SpecError, ValueError):
    """An option cannot be used."""


class OutOfRange(BadOption):
    """An option's value is out of range."""

    def __init__(self, option: str, value: object, wanted: str) -> None:
        super().__init__(option, value, wanted)
        self.option, self.value, self.wanted = option, value, wanted

    def __str__(self) -> str:
        return f"{self.option} is {_written(self.value)}; it must be {self.wanted}."

    def of(self, name: str) -> str:
        """The message with the name by which a person set the option: a flag, a command, a key of a file."""
        return str(OutOfRange(name, self.value, self.wanted))


class NoDrafter(BadOption):
    """The pair has no drafter of this name."""


class ContextFull(SpecError):
    """The prompt does not fit into the model's context.

    The server's clients look for the words and numbers of its first sentence, to shorten a conversation and
    go on.
    """

    def __init__(self, length: int, limit: int, hint: str = "Shorten the prompt.") -> None:
        super().__init__(length, limit, hint)
        self.length, self.limit, self.hint = length, limit, hint

    def __str__(self) -> str:
        fills = self.length == self.limit
        what = f"The prompt is too long: {self.length} tokens > {self.limit - fills}"
        less = " less one token of an answer" if fills else ""
        return f"{what}, the model's maximum context length{less}. {self.hint}"


class UnsupportedModel(SpecError):
    """A model keeps state that the engine cannot rewind, or a drafter does not fit the target."""


class RankLost(SpecError):
    """One of several Macs is gone, or wrote something else."""


def _written(value: object) -> str:
    """As people write it: 0.00001, not 1e-05, and 0, not 0.0."""
    if isinstance(value, float) and (value == 0 or 1e-10 <= abs(value) < 1e10):
        return f"{value:.15f}".rstrip("0").rstrip(".")
    return str(value) or "empty"
