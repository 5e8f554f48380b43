"""This engine as a side."""

import time
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, cast

from benchmarks.peers.answering import Answer, Ask, Played
from mlx_spec.policy.learned import Learned
from mlx_spec.types import DrafterName, Options

if TYPE_CHECKING:
    from mlx_spec import Engine


class OurSide:
    """The engine on a pair, given by its models or its name. `tune`: calibrate first, as at a pair's first
    use.
    """

    def __init__(self, target: str | None, draft: str | None, tune: bool, pair: str = "builtin") -> None:
        from mlx_spec.calibrate import calibrate
        from models.load.engine import load
        from models.pairs.resolve import resolve

        self.pair = load(resolve(None if target else pair, target, draft))
        if tune:
            calibrate(self.pair.engine)

    def drafter_names(self) -> list[str]:
        """Names of the pair's drafters."""
        return self.pair.engine.drafter_names

    def encode(self, messages: Sequence[Any]) -> tuple[tuple[int, ...], tuple[int, ...]]:
        """(ids of the conversation, stop tokens)."""
        from app.engine.session import Session

        return tuple(Session(self.pair).prompt_ids(messages, 256)[0]), tuple(sorted(self.pair.stop_tokens))

    def decode(self, tokens: Sequence[int]) -> str:
        """The text of an answer, without stop tokens."""
        return self.pair.tokenizer.decode([t for t in tokens if t not in self.pair.stop_tokens])

    def answer(self, ask: Ask) -> Answer:
        """Run one prompt. `way` names the drafter."""
        return answer(self.pair.engine, ask)

    def learned(self) -> Learned:
        """The costs and acceptance that the engine has learned."""
        return self.pair.engine.controller.learned

    def learn(self, learned: Learned) -> None:
        """Restore the costs and acceptance that another engine has learned."""
        self.pair.engine.controller.restore(learned)

    def difference(self, ask: Ask, plain: Sequence[int], other: Sequence[int]) -> dict[str, Any] | None:
        """The first difference of two answers, with its margin; None if they are equal."""
        from app.compare.export import difference_json
        from app.engine.same_text import first_difference

        options = Options(max_tokens=ask.max_tokens, temperature=ask.temperature, seed=ask.seed)
        found = first_difference(self.pair, ask.ids, options, plain, other)
        return difference_json(found)

    def write_for_transformers(self, folder: str) -> dict[Literal["target", "draft"], str]:
        """Write both models as float32 checkpoints for transformers; returns their folders."""
        from benchmarks.peers.checkpoint import write_float32
        from models.pairs.installed import installed_folder

        spec = self.pair.spec
        if spec.draft is None:
            raise ValueError("the pair has no draft model")
        return {
            "target": write_float32(installed_folder(spec.target, spec), folder, "target"),
            "draft": write_float32(installed_folder(spec.draft, spec), folder, "draft"),
        }


def answer(engine: "Engine", ask: Ask) -> Answer:
    """Run one prompt, and synchronize at the end, so that no work remains while another side is timed."""
    import mlx.core as mx

    if not ask.keep:
        engine.forget()
    options = Options(
        max_tokens=ask.max_tokens,
        temperature=ask.temperature,
        seed=ask.seed,
        drafter=cast(DrafterName, ask.way),
        draft_length=ask.length,
        stop_tokens=frozenset(ask.stop_tokens),
    )
    start = time.perf_counter()
    reading = engine.generate(ask.ids, options)
    rounds = [next(reading)]
    first, processor = time.perf_counter() - start, time.process_time()
    rounds += reading
    seconds = time.perf_counter() - start
    mx.synchronize()
    processor = time.process_time() - processor
    return Answer(
        tokens=tuple(token for played in rounds for token in played.tokens),
        seconds=seconds,
        first_seconds=first,
        first_tokens=len(rounds[0].tokens),
        passes=len(rounds),
        drafted=sum(len(played.drafted) for played in rounds),
        accepted=sum(played.accepted for played in rounds),
        processor_seconds=processor,
        rounds=tuple(Played(r.drafter, r.draft_length, r.accepted, round(r.seconds, 6)) for r in rounds),
    )
