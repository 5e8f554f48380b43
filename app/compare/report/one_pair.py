"""A report on one pair, in a process of its own: `python -m app.compare.report.one_pair NAME [quick]`.

One process per pair, because weights leave memory for sure only with the process, peak memory is counted per
process, and a pair that runs out of memory must not take the others' results with it.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import asdict
from itertools import groupby
from typing import TYPE_CHECKING

from app.compare import check, tune
from app.compare.collector import RunCollector
from app.compare.export import summary
from app.compare.plan import Plan, Question, Setting, plan
from app.compare.prompts import DEFAULT_PROMPTS, read_prompts
from app.compare.report.collect import Message
from app.compare.runner import run_plan
from mlx_spec.types import Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

Show = Callable[[str], None]


def plans(pair: "LoadedPair", quick: bool) -> tuple[Plan, Plan]:
    """What `check` and `bench` do by themselves, or the least that says something."""
    prompts, chosen = read_prompts(DEFAULT_PROMPTS), check.default_prompts()
    if quick:
        first = {prompt.category: prompt for prompt in reversed(prompts)}
        prompts, chosen = [prompt for prompt in prompts if prompt in first.values()], chosen[:2]
    options, repeats = Options(max_tokens=48 if quick else 128), 1 if quick else 3
    benching = plan([Question.of(prompt) for prompt in prompts], [Setting.of(options)], options, repeats)
    return check.check_plan(pair, chosen, 24 if quick else 48), benching


def measure_pair(pair: "LoadedPair", checking: Plan, benching: Plan, show: Show) -> Iterator[Message]:
    """Check, tune, bench: parts as they come, unfinished ones too."""
    from app.engine.drafting_state import keep, measure

    yield Message("part", "loaded", {"weight_bytes": pair.memory_bytes, "notes": list(pair.notes)})
    for collector, complete in _by_prompt(pair, checking, lambda text: show(f"check: {text}")):
        yield Message("part", "check", {"complete": complete, **check.as_json(collector.measured())})
    show("measuring rounds")
    calibration = measure(pair)
    keep(pair)
    yield Message("part", "tune", tune.as_json(calibration, pair.shape))
    options, repeats = benching.options, benching.repeats
    about = {"max_tokens": options.max_tokens, "repeats": repeats, "temperature": options.temperature}
    for collector, complete in _by_prompt(pair, benching, lambda text: show(f"bench: {text}")):
        yield Message("part", "bench", {"complete": complete, **about, **summary(collector.measured())})


def _by_prompt(pair: "LoadedPair", plan: Plan, show: Show) -> Iterator[tuple[RunCollector, bool]]:
    """What ran after each prompt, and whether it was the last one."""
    collector = RunCollector(plan)
    for _, runs in groupby(run_plan(pair, collector, show=show), key=lambda run: run.prompt):
        for _ in runs:
            continue
        yield collector, collector.count == plan.count


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
        _work(name, bool(rest), send)
    finally:
        release_streams()


def _work(name: str, quick: bool, send: Callable[[Message], None]) -> None:
    from app.shell.failures import failure
    from models.load.engine import load
    from models.pairs.resolve import resolve

    try:
        send(Message("step", "loading"))
        pair = load(resolve(name, None, None))
        for part in measure_pair(pair, *plans(pair, quick), lambda text: send(Message("step", text))):
            send(part)
    except BrokenPipeError:  # the report has ended
        return
    except Exception as error:  # reported for this pair; the others go on
        send(Message("failed", failure(error)[1]))


if __name__ == "__main__":
    main()
