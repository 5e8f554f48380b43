"""A report on one pair, in a process of its own: `python -m app.compare.report.one_pair NAME [quick]`.

One process per pair, because weights leave memory for sure only with the process, peak memory is counted per
process, and a pair that runs out of memory must not take the others' results with it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from app.compare import check, tune
from app.compare.collector import RunCollector
from app.compare.export import summary
from app.compare.plan import Plan, Question, plan
from app.compare.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.compare.report.collect import Message
from app.compare.runner import run_plan
from app.compare.setting import Setting
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

Show = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Amounts:
    """How much a report measures."""

    check_prompts: tuple[BenchPrompt, ...]
    check_tokens: int
    bench_prompts: tuple[BenchPrompt, ...]
    bench_tokens: int
    repeats: int


def amounts(quick: bool) -> Amounts:
    """What `check` and `bench` do by themselves, or the least that says something."""
    prompts, chosen = read_prompts(DEFAULT_PROMPTS), check.default_prompts()
    if not quick:
        return Amounts(tuple(chosen), 48, tuple(prompts), 128, 3)
    first = {prompt.category: prompt for prompt in reversed(prompts)}
    one_each = [prompt for prompt in prompts if prompt in first.values()]
    return Amounts(tuple(chosen[:2]), 24, tuple(one_each), 48, 1)


def measure_pair(pair: "LoadedPair", wanted: Amounts, show: Show) -> Iterator[Message]:
    """Check, tune, bench: parts as they come, unfinished ones too."""
    yield Message("part", "loaded", {"weight_bytes": pair.memory_bytes, "notes": list(pair.notes)})
    yield from _check(pair, wanted, show)
    yield _tune(pair, show)
    yield from _bench(pair, wanted, show)


def _check(pair: "LoadedPair", wanted: Amounts, show: Show) -> Iterator[Message]:
    checking = check.check_plan(pair, wanted.check_prompts, wanted.check_tokens)
    for collector, complete in _by_prompt(pair, checking, lambda text: show(f"check: {text}")):
        yield Message("part", "check", {"complete": complete, **check.as_json(collector.measured())})


def _tune(pair: "LoadedPair", show: Show) -> Message:
    from app.engine.drafting_state import keep, measure

    show("measuring rounds")
    calibration = measure(pair)
    keep(pair)
    return Message("part", "tune", tune.as_json(calibration, pair.shape))


def _bench(pair: "LoadedPair", wanted: Amounts, show: Show) -> Iterator[Message]:
    options = Options(max_tokens=wanted.bench_tokens)
    questions = [Question.of(prompt) for prompt in wanted.bench_prompts]
    benching = plan(questions, [Setting.of(options)], options, wanted.repeats)
    about = {"max_tokens": options.max_tokens, "repeats": wanted.repeats, "temperature": options.temperature}
    for collector, complete in _by_prompt(pair, benching, lambda text: show(f"bench: {text}")):
        yield Message("part", "bench", {"complete": complete, **about, **summary(collector.measured())})


def _by_prompt(pair: "LoadedPair", wanted: Plan, show: Show) -> Iterator[tuple[RunCollector, bool]]:
    """What ran after each prompt, and whether it was the last one."""
    collector = RunCollector(wanted)
    for _, runs in groupby(run_plan(pair, collector, show=show), key=lambda run: run.prompt):
        for _ in runs:
            continue
        yield collector, collector.count == wanted.count


def main() -> None:
    """Measure the pair named on the command line; a message is a line of JSON on stdout."""
    from app.shell.runtime import prepare, release_streams

    out = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no message

    def send(message: Message) -> None:
        out.write(json.dumps(asdict(message)) + "\n")
        out.flush()

    prepare()
    name, *rest = sys.argv[1:]
    try:
        _work(name, amounts(quick=bool(rest)), send)
    finally:
        release_streams()


def _work(name: str, wanted: Amounts, send: Callable[[Message], None]) -> None:
    from app.shell.failures import failure
    from models.load.engine import load
    from models.pairs.resolve import resolve

    try:
        send(Message("step", "loading"))
        pair = load(resolve(name, None, None))
        for part in measure_pair(pair, wanted, lambda text: send(Message("step", text))):
            send(part)
    except BrokenPipeError:  # the report has ended
        return
    except Exception as error:  # reported for this pair; the others go on
        send(Message("failed", failure(error)[1]))


if __name__ == "__main__":
    main()
