"""The values that cross the engine's border: options in, rounds out.

Plain Python only. Nothing here knows text, files, devices or screens.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from math import inf
from numbers import Real
from typing import Literal, get_args

from mlx_spec.errors import OutOfRange
from mlx_spec.token_ids import token_ids, whole

StopReason = Literal["stop", "length"]
"""`stop`: a stop token was produced. `length`: `max_tokens` or the context limit was reached."""

Rule = Literal["coupled", "token", "block"]
"""How drafted tokens are verified above temperature 0. At 0 the three coincide."""

DrafterName = str
"""`auto`: each round by the drafter that promises most. `none`: plain decoding. Else a drafter's
name, or several joined by `+`, among which each round chooses as in `auto`."""

MAX_DRAFT_LENGTH = 31
"""With the token before it, a draft fills a matrix tile of 32 rows."""
BATCH_SIZES = (1, 2, 4, 8, 16)
"""Batch sizes; each has graphs of its own where passes are compiled."""
LEAST = 0.0001
"""Smallest temperature, top_p and repetition_penalty: with far less float32 overflows."""
MAX_REPETITION_CONTEXT = 2**20


def _real(value: object) -> int | float:
    if isinstance(value, bool) or not isinstance(value, Real):
        raise TypeError("not a number")
    return value if isinstance(value, int) else float(value)


_KINDS = {whole: "a whole number", _real: "a number"}
_NUMBERS = {
    "max_tokens": (whole, 1, inf, "at least 1"),
    "temperature": (_real, LEAST, 10, f"0 (no sampling) or between {LEAST} and 10"),
    "top_p": (_real, LEAST, 1, f"between {LEAST} and 1"),
    "top_k": (whole, 0, inf, "0 (off) or more"),
    "min_p": (_real, 0, 1, "between 0 and 1"),
    "repetition_penalty": (_real, LEAST, 10, f"between {LEAST} and 10; 1 is off"),
    "repetition_context": (whole, 1, MAX_REPETITION_CONTEXT, f"between 1 and {MAX_REPETITION_CONTEXT}"),
    "seed": (whole, 0, 2**64 - 1, "between 0 and 2^64 - 1"),
    "draft_length": (whole, 0, MAX_DRAFT_LENGTH, f"between 0 and {MAX_DRAFT_LENGTH}"),
}
"""By numeric option: how it is read, minimum, maximum, and both in words."""


@dataclass(frozen=True, slots=True)
class Options:
    """Options of one generation. Validated on construction.

    Raises:
        OutOfRange: a value is out of its option's range; the message names both.
        BadOption: a stop token is negative or no whole number.
    """

    max_tokens: int = 512
    """Upper bound on the answer's tokens, the stop token included. Exact."""
    temperature: float = 0.0
    """0 is greedy."""
    top_p: float = 1.0
    """Nucleus sampling; 1 keeps everything."""
    top_k: int = 0
    """Keep the k likeliest tokens; 0 keeps everything."""
    min_p: float = 0.0
    """Drop tokens below this share of the likeliest one's probability; 0 keeps everything."""
    repetition_penalty: float = 1.0
    """Divides positive and multiplies negative logits of recent tokens; 1 is off (CTRL, section 4.1)."""
    repetition_context: int = 20
    """How many tokens back, prompt included, the penalty looks."""
    seed: int = 0
    """Same seed, same text: with `coupled`, drafted or not."""
    draft_length: int | None = None
    """Tokens drafted per round; 0 is plain decoding; None leaves it to the engine's policy."""
    drafter: DrafterName = "auto"
    verify: Rule = "coupled"
    stop_tokens: frozenset[int] = field(default_factory=frozenset)
    """Ids that end the answer. Ids outside the vocabulary are allowed."""

    def __post_init__(self) -> None:
        for name in _NUMBERS:
            value = getattr(self, name)
            if value is not None or name != "draft_length":
                object.__setattr__(self, name, _number(name, value))
        object.__setattr__(self, "stop_tokens", frozenset(token_ids(self.stop_tokens, "stop_tokens")))
        rules: tuple[str, ...] = get_args(Rule)
        known = isinstance(self.verify, str) and self.verify in rules
        _check(known, "verify", self.verify, one_of(rules))
        named = isinstance(self.drafter, str) and all(self.drafter.split("+"))
        _check(named, "drafter", self.drafter, "auto, none, or names joined by +")


@dataclass(frozen=True, slots=True)
class Likeliness:
    """Log probabilities of the target at one token, before penalties, temperature and filters."""

    own: float
    top: tuple[tuple[int, float], ...]
    """(id, log probability) of the likeliest tokens there, best first."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round: a draft, one pass of the target over it, and what the text gained."""

    drafted: tuple[int, ...]
    """The draft, cut where the text ends (a tree is not cut); empty in a plain round."""
    accepted: int
    """How many drafted tokens were accepted; the bonus token is not counted."""
    tokens: tuple[int, ...]
    """The tokens gained: accepted ones and the bonus, cut at a stop."""
    drafter: str
    """Name of the drafter; `none` in a plain round."""
    seconds: float
    """Wall time since the previous round was read (the first: since decoding began)."""
    stop: StopReason | None = None
    """Set on the last round only."""
    draft_seconds: float | None = None
    """Time the draft alone took, in the few rounds that are timed in two parts."""
    steady: bool = False
    """Nothing of another kind ran meanwhile and no graph was built: `seconds` is what such a round costs."""
    tree_depth: int | None = None
    """The most tokens of a tree that could be accepted, up to the text's end; None: a chain."""
    likeliness: tuple[Likeliness, ...] = ()
    """Of each of `tokens`, if asked for."""

    @property
    def draft_length(self) -> int:
        """Tokens drafted after one another."""
        return len(self.drafted) if self.tree_depth is None else self.tree_depth

    def cut(self, taken: int, stop: StopReason) -> "Round":
        """A text's last round, of which it takes the first `taken` tokens."""
        depth = self.tree_depth
        return replace(
            self,
            drafted=self.drafted[:taken] if depth is None else self.drafted,
            tree_depth=depth and min(depth, taken),
            accepted=min(self.accepted, taken),
            tokens=self.tokens[:taken],
            stop=stop,
            # A draft that is cut here took as long as the whole of it.
            steady=self.steady and self.draft_length <= taken,
        )


def one_of(names: Sequence[str]) -> str:
    """As a part of a sentence: `a, b or c`."""
    return f"{', '.join(names[:-1])} or {names[-1]}"


def _number(name: str, value: object) -> int | float:
    """`value` as a plain Python number, whatever library's it was."""
    read, low, high, wanted = _NUMBERS[name]
    try:
        number = read(value)
    except TypeError:
        shown = repr(value) if isinstance(value, str) else str(value)  # '5' is no number, 5.0 no whole one
        raise OutOfRange(name, shown, f"{_KINDS[read]}, {wanted}") from None
    _check(low <= number <= high or (name == "temperature" and number == 0), name, number, wanted)
    return number


def _check(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise OutOfRange(name, value, wanted)
