"""Runs the prompts with and without drafting, alternating, in one process after a warm-up."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from app.compare.bench.measured import Measured
from app.compare.bench.prompt_ids import prompt_ids
from app.compare.bench.prompts import BenchPrompt
from app.engine.decoding import Decoded, decode
from app.engine.difference import Difference
from app.engine.same_text import first_difference
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

WARM_UP_TOKENS = 24


def measure(
    pair: "LoadedPair",
    prompts: Sequence[BenchPrompt],
    options: Options,
    *,
    repeats: int,
    raw: bool = False,
    progress: Callable[[int, BenchPrompt], None] = lambda done, prompt: None,
) -> Iterator[Measured]:
    """Measure prompt after prompt. Each run reads its prompt from the beginning; the order alternates.

    Raises:
        BadInput: a prompt cannot be used or does not fit the context.
        SpecError: the options do not fit the pair.
    """
    bench = _Bench(pair, replace(options, stop_tokens=options.stop_tokens | pair.stop_tokens), repeats)
    ids = prompt_ids(pair, prompts, options.max_tokens, raw)
    bench.warm_up(ids[0])
    for number, (prompt, tokens) in enumerate(zip(prompts, ids, strict=True)):
        progress(number, prompt)
        yield bench.compare(prompt, tokens)


class _Bench:
    def __init__(self, pair: "LoadedPair", drafted: Options, repeats: int) -> None:
        self.pair = pair
        self.drafted = drafted
        self.plain = replace(drafted, drafter="none", draft_length=0)
        self.repeats = repeats

    def warm_up(self, ids: Sequence[int]) -> None:
        for options in (self.plain, self.drafted):
            self._run(ids, replace(options, max_tokens=min(options.max_tokens, WARM_UP_TOKENS)))

    def compare(self, prompt: BenchPrompt, ids: Sequence[int]) -> Measured:
        runs: list[tuple[Decoded, Decoded]] = []
        for repeat in range(self.repeats):
            if repeat % 2 == 0:
                plain = self._run(ids, self.plain)
                runs.append((plain, self._run(ids, self.drafted)))
            else:
                drafted = self._run(ids, self.drafted)
                runs.append((self._run(ids, self.plain), drafted))
        return Measured(
            prompt=prompt,
            plain=tuple(plain.stats for plain, _ in runs),
            drafted=tuple(drafted.stats for _, drafted in runs),
            tokens=len(runs[0][0].tokens),
            difference=self._difference(ids, runs),
        )

    def _run(self, ids: Sequence[int], options: Options) -> Decoded:
        self.pair.engine.forget()
        return decode(self.pair.engine, ids, options)

    def _difference(self, ids: Sequence[int], runs: Sequence[tuple[Decoded, Decoded]]) -> Difference | None:
        for plain, drafted in runs:
            if found := first_difference(self.pair, ids, self.plain, plain.tokens, drafted.tokens):
                return found
        return None
