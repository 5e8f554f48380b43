"""Who may draft in one generation."""

from dataclasses import dataclass

from mlx_spec.drafters import Drafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.policy.plan import Offer, Planner


@dataclass(frozen=True, slots=True)
class Choice:
    """Who may draft in one generation, and who plans its rounds."""

    model: ModelDrafter | None
    lookup: Drafter | None
    planner: Planner

    @property
    def all(self) -> list[Drafter]:
        """Lookup first: it costs nothing."""
        return [drafter for drafter in (self.lookup, self.model) if drafter is not None]

    def offers(self) -> list[Offer]:
        """Who could draft the next round, the surest first.

        Asked before the last round is read, so that text which copies nothing never waits.
        """
        offers = [offer for drafter in self.all if (offer := drafter.offer())]
        return sorted(offers, key=lambda offer: offer.prior, reverse=True)

    def named(self, name: str) -> Drafter | None:
        """None for `none`."""
        return next((drafter for drafter in self.all if drafter.name == name), None)
