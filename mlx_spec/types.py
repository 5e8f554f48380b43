"""The values that cross the engine's border: options in, rounds out.

Plain Python only. Nothing here knows text, files, devices or screens.
"""

from dataclasses import dataclass, field
from typing import Literal

from mlx_spec.errors import OutOfRange

StopReason = Literal["stop", "length"]
"""`stop`: a stop token was produced. `length`: `max_tokens` or the context limit was reached."""

Rule = Literal["coupled", "token", "block"]
"""How drafted tokens are verified above temperature 0. At 0 the three coincide."""

DrafterName = str
"""`auto`: each round by the drafter that promises most. `none`: plain decoding. Else a drafter's name."""

MAX_DRAFT_LENGTH = 31
"""With the token before it, a draft fills a matrix tile of 32 rows."""
LEAST = 0.0001
"""Of temperature, top_p and repetition_penalty: with far less float32 overflows."""
MAX_REPETITION_CONTEXT = 2**20


@dataclass(frozen=True, slots=True)
class Options:
    """What one generation may do. Validated on construction.

    Raises:
        OutOfRange: a value that the option cannot have; the message names both.
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

    def __post_init__(self) -> None:
        _check(self.max_tokens >= 1, "max_tokens", self.max_tokens, "at least 1")
        _check(self.temperature == 0 or LEAST <= self.temperature <= 10, "temperature",
               self.temperature, f"0 (no sampling) or between {LEAST} and 10")  # fmt: skip
        _check(LEAST <= self.top_p <= 1, "top_p", self.top_p, f"between {LEAST} and 1")
        _check(self.top_k >= 0, "top_k", self.top_k, "0 (off) or more")
        _check(0 <= self.min_p <= 1, "min_p", self.min_p, "between 0 and 1")
        _check(LEAST <= self.repetition_penalty <= 10, "repetition_penalty", self.repetition_penalty,
               f"between {LEAST} and 10; 1 is off")  # fmt: skip
        _check(1 <= self.repetition_context <= MAX_REPETITION_CONTEXT, "repetition_context",
               self.repetition_context, f"between 1 and {MAX_REPETITION_CONTEXT}")  # fmt: skip
        _check(0 <= self.seed < 2**64, "seed", self.seed, "between 0 and 2^64 - 1")
        if self.draft_length is not None:
            _check(0 <= self.draft_length <= MAX_DRAFT_LENGTH, "draft_length", self.draft_length,
                   f"between 0 and {MAX_DRAFT_LENGTH}")  # fmt: skip
        _check(self.verify in ("coupled", "token", "block"), "verify", self.verify,
               "coupled, token or block")  # fmt: skip


@dataclass(frozen=True, slots=True)
class Round:
    """One round: a draft, one pass of the target over it, and what the text gained."""

    drafted: tuple[int, ...]
    """What the drafter proposed, up to where the text ends; empty in a plain round."""
    accepted: int
    """How many drafted tokens stood; the bonus token is not counted."""
    tokens: tuple[int, ...]
    """What the text gained: the accepted tokens and the target's own, cut at a stop."""
    drafter: str
    """Name of the drafter that proposed; `none` in a plain round."""
    seconds: float
    """Wall time since the previous round was read (the first: since decoding began)."""
    stop: StopReason | None = None
    """Set on the last round only."""
    draft_seconds: float | None = None
    """Time the draft alone took, in the few rounds that are timed in two parts."""
    steady: bool = False
    """Nothing of another kind ran meanwhile and no graph was built: `seconds` is what such a round costs."""


def _check(holds: bool, name: str, value: object, wanted: str) -> None:
    if not holds:
        raise OutOfRange(name, value, wanted)
