"""One way of answering: what a comparison varies."""

from dataclasses import dataclass, replace

from mlx_spec.types import DrafterName, Options


@dataclass(frozen=True, slots=True)
class Setting:
    """Who drafts, how long, at which temperature."""

    drafter: DrafterName
    draft_length: int | None
    """0 where nothing is drafted; None leaves it to the engine."""
    temperature: float

    @classmethod
    def of(cls, options: Options) -> "Setting":
        """The setting of these options."""
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
        """Without the temperature: `plain`, `model 3`, `auto (length auto)`."""
        if not self.drafts:
            return "plain"
        return (
            f"{self.drafter} (length auto)"
            if self.draft_length is None
            else f"{self.drafter} {self.draft_length}"
        )

    @property
    def label(self) -> str:
        return f"{self.name} at {self.temperature:g}" if self.temperature else self.name

    def options(self, base: Options) -> Options:
        """The base with this setting's values."""
        return replace(
            base, drafter=self.drafter, draft_length=self.draft_length, temperature=self.temperature
        )
