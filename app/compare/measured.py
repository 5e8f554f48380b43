"""What was measured of one prompt: its runs with one setting, and beside its plain runs."""

from dataclasses import dataclass

from app.compare.prompts import BenchPrompt
from app.compare.setting import Setting
from app.engine.difference import Difference
from app.engine.events import Piece, text_of
from mlx_spec.stats import Stats


@dataclass(frozen=True, slots=True)
class Outcome:
    """One prompt answered with one setting."""

    prompt: int
    setting: int
    """Places in the record's lists."""
    runs: tuple[Stats, ...]
    """One per repeat."""
    pieces: tuple[Piece, ...]
    """The text of the first run, marked; empty where it ran without a screen."""
    difference: Difference | None
    """Where a run first left the text of the plain run beside it; None if none did."""

    @property
    def text(self) -> str:
        return text_of(self.pieces)


@dataclass(frozen=True, slots=True)
class Measured:
    """One prompt's runs with a drafting setting beside its plain runs, as many of each."""

    prompt: BenchPrompt
    setting: Setting
    plain: Outcome
    drafted: Outcome

    @property
    def difference(self) -> Difference | None:
        return self.drafted.difference
