"""A tiny pair on disk, and the options that name it."""

from dataclasses import dataclass
from pathlib import Path

from app.engine import drafting_state
from models import load_pair
from tests.models.tiny_models import make_model, make_tokenizer

CONTEXT = 4096


@dataclass(frozen=True)
class TinyPair:
    """Folders of the two models."""

    target: Path
    draft: Path

    @property
    def arguments(self) -> list[str]:
        """The options that name the pair."""
        return ["--target", str(self.target), "--draft", str(self.draft)]


def write_tiny_pair(folder: Path, target_layers: int = 2, draft_layers: int = 1) -> TinyPair:
    """Write two random models with the same tokenizer."""
    pair = TinyPair(folder / "target", folder / "draft")
    for seed, (model, layers) in enumerate(((pair.target, target_layers), (pair.draft, draft_layers))):
        make_model(model, seed=seed, num_hidden_layers=layers, max_position_embeddings=CONTEXT)
        make_tokenizer(model)
    return pair


def count_as_measured(pair: TinyPair) -> None:
    """Mark the pair as measured in this home, which saves processes some seconds at first use."""
    assert drafting_state.save(load_pair(target=str(pair.target), draft=str(pair.draft)))
