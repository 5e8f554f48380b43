"""How long to draft, and by whom: the choice with the most expected tokens per second.

argmax over drafters and lengths k of E(k) / C(k): expected tokens of a round over its wall time, plain
rounds (k = 0) included. Both are learned from the rounds that were read; costs are better known
beforehand (`Engine.calibrate`). Lossless whatever it chooses: it looks at nothing but rounds before.
"""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from typing import Any

from mlx_spec.acceptance import Acceptance
from mlx_spec.costs import Costs
from mlx_spec.planning import NO_OFFER, Offer
from mlx_spec.types import Round

IDLE = 0.998
"""What a plain round leaves of what is known about acceptance: in time drafting is tried again."""
NEW_PROMPT = 0.1
"""What a new prompt leaves: the next text may be of another kind, and then every wrong draft counts."""
HOPE = 0.25
"""How much likelier than counted a draft may stand while nothing else pays, with nothing counted."""
MARGIN = 1.01
"""Drafting has to promise this much more than plain decoding."""
AS_GOOD = 1.03
"""More rows than a fused kernel takes have to promise this much more than fewer."""
PLAIN_FIRST = 3
"""Plain rounds to time before drafting starts where costs were not measured."""
PROBE_FIRST, PROBE_LAST = 16, 1024
"""Rounds between two looks at what is not chosen: doubled every time, begun anew after a surprise."""
RESTING = 4
"""Looks from plain rounds are so much rarer: they cost the most."""
PLAIN_PROBE = 3
"""Plain rounds of a look: only those between others of their kind are timed."""


class Controller:
    """Chooses drafter and length of each round; one per loaded pair, kept across turns.

    Args:
        edges: rows after which a target pass leaves a faster path (`widths.edges`).
    """

    def __init__(self, costs: Costs | None = None, edges: Sequence[int] = ()):
        self.costs = costs or Costs()
        self.acceptance: dict[str, Acceptance] = {}
        self.edges = sorted(edges)
        self._probe_after = PROBE_FIRST
        self._quiet = 0
        """Rounds since the last look."""
        self._looks = 0
        self._look: tuple[str, int] | None = None
        """Drafter and length that are looked at until a round of them was read."""
        self._plain_left = 0

    def begin(self) -> None:
        """A new prompt."""
        self._look = None
        for known in self.acceptance.values():
            known.fade(NEW_PROMPT)

    def choose(self, offers: Sequence[Offer], length: int) -> tuple[Offer, int]:
        """Whose draft of how many tokens; `NO_OFFER`, 0 is a plain round."""
        plain = self.costs.plain
        if plain is None or plain.seen < PLAIN_FIRST or self._plain_left:
            return NO_OFFER, 0
        for offer in offers:
            if self._look and self._look[0] == offer.drafter:
                return offer, self._look[1]
        sure = self._best(offers, length, 0.0, MARGIN)
        offer, k = sure if sure[1] else self._best(offers, length, HOPE, 1.0)
        if offers and self._quiet >= (self._probe_after if k else RESTING * self._probe_after):
            return self._look_at(offers, offer, k)
        return offer, k

    def count(self, read: Round, offer: Offer, length: int) -> None:
        """Take a round that was read."""
        drafted = len(read.drafted)
        if drafted:
            self._known(offer).count(drafted, read.accepted)
        else:
            for known in self.acceptance.values():
                known.fade(IDLE)
        self._plain_left = max(0, self._plain_left - (not drafted))
        if self._look and self._look[0] == offer.drafter:
            self._look = None
        self._quiet += 1
        if read.steady and self.costs.learn(read.drafter, drafted, read.seconds, length):
            self._probe_after = PROBE_FIRST

    def as_json(self) -> dict[str, Any]:
        """What was learned, as plain values; `restore` takes them back."""
        counted = {kind: known.as_json() for kind, known in self.acceptance.items()}
        return {"costs": self.costs.as_json(), "acceptance": counted}

    def restore(self, values: Mapping[str, Any]) -> None:
        """Raises LookupError, TypeError, ValueError or AttributeError, and changes nothing then."""
        costs = Costs.from_json(values["costs"])
        counted = {str(kind): Acceptance.from_json(known) for kind, known in values["acceptance"].items()}
        self.costs, self.acceptance = costs, counted

    def _known(self, offer: Offer) -> Acceptance:
        return self.acceptance.setdefault(offer.kind, Acceptance(offer.prior))

    def _best(self, offers: Sequence[Offer], length: int, hope: float, margin: float) -> tuple[Offer, int]:
        assert self.costs.plain is not None
        best, rate = (NO_OFFER, 0), margin / self.costs.plain.at(length)
        for offer in offers:
            known = self._known(offer)
            # Beyond what was timed, one token at a time, and only after all before it stood once.
            tried = max(self.costs.longest(offer.drafter), known.reached + 1)
            curve = self.costs.curve(offer.drafter, min(offer.limit, tried))
            expected = known.expected(len(curve) - 1, hope)
            for k in range(1, len(curve)):
                promised = expected[k] / curve[k].at(length)
                if promised > rate and promised > rate * self._wanted(best[1], k):
                    best, rate = (offer, k), promised
        return best

    def _wanted(self, k: int, longer: int) -> float:
        """How much better a longer draft has to be: more where it falls off an edge that k is on."""
        return AS_GOOD if bisect_left(self.edges, longer + 1) > bisect_left(self.edges, k + 1) else 1.0

    def _look_at(self, offers: Sequence[Offer], offer: Offer, k: int) -> tuple[Offer, int]:
        """By turns one token more and none: what is never run is never corrected."""
        self._quiet = 0
        self._looks += 1
        self._probe_after = min(2 * self._probe_after, PROBE_LAST)
        if k and self._looks % 2:
            self._plain_left = PLAIN_PROBE
            return NO_OFFER, 0
        wider = offer if k else offers[0]
        longer = min(k + 1, len(self.costs.curve(wider.drafter, wider.limit)) - 1)
        self._look = wider.drafter, longer
        return wider, longer
