"""mlx-lm's two generation loops as a side, on the weights as this project loads them."""

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING

from benchmarks.peers.answering import Answer, Ask

if TYPE_CHECKING:
    import mlx.nn as nn

    from mlx_spec import Engine


class MlxLmSide:
    """`generate_step` (way `plain`) and `speculative_generate_step` (way `speculative`)."""

    def __init__(self, target: str | None, draft: str | None, pair: str = "builtin") -> None:
        from models.load.engine import load
        from models.pairs.resolve import resolve

        engine = load(resolve(None if target else pair, target, draft)).engine
        self.target, self.draft = engine.target.model, draft_model(engine)

    def answer(self, ask: Ask) -> Answer:
        """Run one prompt."""
        return answer(self.target, self.draft, ask)


def draft_model(engine: "Engine") -> "nn.Module | None":
    """The draft model of an engine as an mlx-lm model; None if it has none."""
    from mlx_spec.drafters.model import ModelDrafter

    models = (drafter.cached.model for drafter in engine.drafters if isinstance(drafter, ModelDrafter))
    return next(models, None)


def answer(target: "nn.Module", draft: "nn.Module | None", ask: Ask) -> Answer:
    """Run one prompt, and synchronize at the end, so that no work remains while another side is timed."""
    import mlx.core as mx

    mx.random.seed(ask.seed)
    tokens: list[int] = []
    passes = accepted = 0
    open_round = False
    first = processor = 0.0
    start = time.perf_counter()
    for token, drafted in _tokens(target, draft, ask):
        if not tokens:
            first, processor = time.perf_counter() - start, time.process_time()
        tokens.append(token)
        accepted += drafted
        passes += not drafted
        open_round = drafted
        if token in ask.stop_tokens:
            break
    seconds = time.perf_counter() - start
    mx.synchronize()
    processor = time.process_time() - processor
    passes += open_round
    return Answer(
        tokens=tuple(tokens),
        seconds=seconds,
        first_seconds=first,
        first_tokens=1,
        passes=passes,
        drafted=passes * (ask.length or 0) if ask.way == "speculative" else 0,
        accepted=accepted,
        processor_seconds=processor,
    )


def _tokens(target: "nn.Module", draft: "nn.Module | None", ask: Ask) -> Iterator[tuple[int, bool]]:
    """(token, whether it was drafted); a round ends with a token that was not."""
    import mlx.core as mx
    from mlx_lm.generate import generate_step, speculative_generate_step
    from mlx_lm.sample_utils import make_sampler

    prompt, sampler = mx.array(list(ask.ids)), make_sampler(ask.temperature)
    if ask.way == "plain":
        for token, _ in generate_step(prompt, target, max_tokens=ask.max_tokens, sampler=sampler):
            yield int(token), False
        return
    if draft is None or ask.length is None:
        raise ValueError("speculative needs a draft model and a length")
    steps = speculative_generate_step(
        prompt, target, draft, max_tokens=ask.max_tokens, sampler=sampler, num_draft_tokens=ask.length
    )
    for token, _, drafted in steps:
        yield int(token), bool(drafted)
