"""How often drafted tokens stand: counted per draft position while decoding, and forgotten slowly."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

MEMORY = 0.97
"""What one observation leaves of those before: about 33 count."""


@dataclass(slots=True)
class Acceptance:
    """How often each draft position stood, given that all before it did."""

    prior: float = 0.5
    """Of a first position never tried; later positions inherit the one before."""
    stood: list[float] = field(default_factory=list)
    tried: list[float] = field(default_factory=list)

    def count(self, drafted: int, accepted: int) -> None:
        """Take a round. Positions after the first rejection say nothing."""
        for i in range(min(drafted, accepted + 1)):
            if i == len(self.tried):
                self.stood.append(0.0)
                self.tried.append(0.0)
            self.stood[i] = self.stood[i] * MEMORY + (i < accepted)
            self.tried[i] = self.tried[i] * MEMORY + 1

    @property
    def reached(self) -> int:
        """Positions that ever stood."""
        return sum(stood > 0 for stood in self.stood)

    def fade(self, share: float) -> None:
        """Keep only a share of what was counted."""
        self.stood = [count * share for count in self.stood]
        self.tried = [count * share for count in self.tried]

    def expected(self, k: int, hope: float = 0.0) -> list[float]:
        """Tokens of rounds that draft 0, 1, ... k: one and the survival of each position.

        Args:
            hope: how much likelier than counted a position may be with nothing counted; less with more.
        """
        total = alive = 1.0
        rate, out = self.prior, [1.0]
        for i in range(k):
            if i < len(self.tried):
                tried = self.tried[i]
                rate = (self.stood[i] + rate) / (tried + 1)
            else:
                tried = 0.0
            alive *= min(1.0, rate + hope / (tried + 1))
            total += alive
            out.append(total)
        return out

    def as_json(self) -> dict[str, Any]:
        """Plain values; `from_json` reads them."""
        return {"prior": self.prior, "stood": self.stood, "tried": self.tried}

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> "Acceptance":
        """Raises LookupError, TypeError or ValueError where the values make no sense."""
        known = cls(
            float(values["prior"]), list(map(float, values["stood"])), list(map(float, values["tried"]))
        )
        if len(known.stood) != len(known.tried) or any(
            not 0 <= stood <= tried for stood, tried in zip(known.stood, known.tried, strict=True)
        ):
            raise ValueError("more stood than were tried")
        return known
