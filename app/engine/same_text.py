"""Whether two answers have the same tokens, and if not, whether rounding explains the first difference.

A pass over several rows may sum in another order than a pass over one row. Two tokens whose scores are
closer than that rounding error can swap places; any other difference is a defect.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from app.engine.difference import Difference, parting
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

TOLERANCE = {"float32": 1e-4, "float16": 8e-3, "bfloat16": 3e-2}
"""By the precision of the logits: the share of the largest logit that reordered sums may change.

In 16 bit about eight rounding steps of the logit: the distance between the built-in target's logits in 16
and in 32 bit (`python -m benchmarks.rounding_on_answers`). In 32 bit, where the inner sums are no more
precise than the result, about a thousand steps.
"""


def first_difference(
    pair: "LoadedPair", prompt: Sequence[int], options: Options, plain: Sequence[int], drafted: Sequence[int]
) -> Difference | None:
    """Compare two answers to one prompt with the same options; None if they are the same."""
    if tuple(plain) == tuple(drafted):
        return None
    position = parting(plain, drafted)
    answers = [list(answer[position : position + 1]) for answer in (plain, drafted)]
    tokens = answers[0] + answers[1]
    before = [*prompt, *plain[:position]]
    pair.engine.forget()
    logits = pair.engine.next_scores(before, Options())
    scores = pair.engine.next_scores(before, options) if options.temperature else logits
    gap: float = (scores.max() - scores[tokens].min()).item()  # type: ignore[assignment]
    largest: float = abs(logits).max().item()  # type: ignore[assignment]
    return Difference(
        position=position,
        plain=pair.tokenizer.decode(answers[0]),
        drafted=pair.tokenizer.decode(answers[1]),
        margin=gap * (options.temperature or 1.0) if len(tokens) == 2 else None,
        tolerance=TOLERANCE.get(str(logits.dtype).rpartition(".")[2], TOLERANCE["bfloat16"]) * largest,
    )
