"""A report on one pair, in a process of its own: `python -m app.compare.report.one_pair NAME FD [quick]`.

One process per pair, because weights leave memory for sure only with the process, peak memory is counted per
process, and a pair that runs out of memory must not take the others' results with it.
"""

import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from app.compare.report.messages import Done, Failed, Message, Part, Step
from app.compare.report.plan import Plan, make_plan

if TYPE_CHECKING:
    from app.compare.report.energy import Meter
    from models.load.engine import LoadedPair


def measure_pair(pair: "LoadedPair", plan: Plan, show: Callable[[str], None]) -> Iterator[Part]:
    """Check, tune, bench, energy: parts as they come, unfinished ones too."""
    from app.compare.report.energy import find_meter

    yield Part("loaded", {"weight_bytes": pair.memory_bytes, "notes": list(pair.notes)})
    yield from _check(pair, plan, show)
    yield _tune(pair, show)
    yield from _bench(pair, plan, show)
    yield _energy(pair, plan, show, find_meter())


def _check(pair: "LoadedPair", plan: Plan, show: Callable[[str], None]) -> Iterator[Part]:
    from app.compare.check import lossless, report

    results: list[lossless.Checked] = []
    for number, prompt in enumerate(plan.check_prompts, 1):
        steps = lossless.check(pair, [prompt], max_tokens=plan.check_tokens, progress=show)
        results.extend(steps)
        yield Part("check", {"complete": number == len(plan.check_prompts), **report.as_json(results)})


def _tune(pair: "LoadedPair", show: Callable[[str], None]) -> Part:
    from app.compare.tune_report import as_json, best_lengths
    from app.engine.drafting_state import keep, measure

    show("measuring rounds")
    calibration = measure(pair)
    keep(pair)
    costs, context = calibration.costs(), calibration.near
    plain = costs.of("none", 0, context)
    relative = {
        name: {str(k): costs.of(name, k, context) / plain for k in range(1, costs.longest(name) + 1)}
        for name in costs.rounds
    }
    value = {"plain_seconds": plain, "relative": relative, "best": best_lengths(costs, context)}
    return Part("tune", {**value, "measured": as_json(calibration, pair.shape)})


def _bench(pair: "LoadedPair", plan: Plan, show: Callable[[str], None]) -> Iterator[Part]:
    from app.compare.bench import comparison, report
    from app.compare.bench.measure import measure
    from app.compare.bench.measured import Measured
    from mlx_spec.types import Options

    options = Options(max_tokens=plan.bench_tokens)
    measured: list[Measured] = []
    for category in dict.fromkeys(prompt.category for prompt in plan.bench_prompts):
        of_it = [prompt for prompt in plan.bench_prompts if prompt.category == category]
        measured += measure(
            pair, of_it, options, repeats=plan.repeats, progress=lambda _, prompt: show(f"bench, {prompt.id}")
        )
        value = {
            "complete": len(measured) == len(plan.bench_prompts),
            "max_tokens": plan.bench_tokens,
            "repeats": plan.repeats,
            "temperature": options.temperature,
            "overall": comparison.compare(measured).as_json(),
            "by_category": {name: c.as_json() for name, c in comparison.by_category(measured).items()},
            "rows": [report.row(m) for m in measured],
        }
        yield Part("bench", value)


def _energy(pair: "LoadedPair", plan: Plan, show: Callable[[str], None], meter: "Meter | None") -> Part:
    from app.compare.report.energy import NOT_MEASURED

    if meter is None:
        return Part("energy", {"measured": False, "why": NOT_MEASURED})
    show(f"energy, {meter.name}")
    try:
        found = {way: _energy_of(pair, plan, meter, way) for way in ("plain", "drafted")}
    except RuntimeError as error:  # a counter that cannot be read costs nothing but its own number
        return Part("energy", {"measured": False, "why": f"{meter.name} failed: {error}"})
    if None in found.values():
        return Part("energy", {"measured": False, "why": f"{meter.name} gave no numbers."})
    return Part("energy", {"measured": True, "meter": meter.name, **found})


def _energy_of(pair: "LoadedPair", plan: Plan, meter: "Meter", way: str) -> dict[str, float] | None:
    """Over the bench's prompts, again and again until it took long enough; prefill included."""
    import time

    from app.compare.report import energy
    from app.engine.chat_prompt import Message as ChatMessage
    from app.engine.decoding import decode
    from app.engine.session import Session
    from mlx_spec.types import Options

    options = Options(max_tokens=plan.bench_tokens, stop_tokens=pair.stop_tokens)
    if way == "plain":
        options = replace(options, drafter="none", draft_length=0)
    session = Session(pair)
    prompts = [
        session.prompt_ids([ChatMessage(role="user", content=prompt.prompt)], plan.bench_tokens)[0]
        for prompt in plan.bench_prompts
    ]
    tokens = 0

    def work() -> None:
        nonlocal tokens
        begun = time.perf_counter()
        while not tokens or time.perf_counter() - begun < energy.SHORTEST_SECONDS:
            for ids in prompts:
                pair.engine.forget()
                tokens += len(decode(pair.engine, ids, options).tokens)

    used = meter.measure(work)
    return {"joules_per_token": used.joules / tokens, "watts": used.joules / used.seconds} if used else None


def main() -> None:
    """Measure the pair named on the command line; send messages to the file descriptor."""
    from app.shell.runtime import prepare, release_streams

    prepare()
    name, descriptor, *rest = sys.argv[1:]
    messages = Connection(int(descriptor), readable=False)
    try:
        _work(name, make_plan(quick=bool(rest)), messages.send)
    except BrokenPipeError:
        return
    finally:
        release_streams()


def _work(name: str, plan: Plan, send: Callable[[Message], None]) -> None:
    from app.shell.failures import failure
    from models.load.engine import load
    from models.pairs.resolve import resolve

    try:
        send(Step("loading"))
        pair = load(resolve(name, None, None))
        for part in measure_pair(pair, plan, lambda text: send(Step(text))):
            send(part)
        send(Done())
    except BrokenPipeError:
        raise
    except Exception as error:  # whatever happens to one pair is told; the others go on
        send(Failed(failure(error)[1]))


if __name__ == "__main__":
    main()
