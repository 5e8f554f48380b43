"""A report on one pair, in a process of its own, which `app.compare.report.collect` starts.

One process per pair, because only the end of a process surely frees the weights, peak memory is counted per
process, and a pair that runs out of memory must not lose the others' results.
"""

from collections.abc import Callable, Iterator
from itertools import groupby
from typing import TYPE_CHECKING, Any

from app.compare import check, tune
from app.compare.collector import RunCollector
from app.compare.export import summary
from app.compare.plan import Plan, Question, Setting, plan
from app.compare.prompts import DEFAULT_PROMPTS, read_prompts
from app.compare.runner import run_plan
from app.settings.options import AnswerOptions
from models.child import asked

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def plans(pair: "LoadedPair", quick: bool) -> tuple[Plan, Plan]:
    """The default plans of `check` and `bench`, or small ones if `quick`."""
    prompts, chosen = read_prompts(DEFAULT_PROMPTS), check.default_prompts()
    if quick:
        first = {prompt.category: prompt for prompt in reversed(prompts)}
        prompts, chosen = [prompt for prompt in prompts if prompt in first.values()], chosen[:2]
    options, repeats = AnswerOptions(max_tokens=48 if quick else 128), 1 if quick else 3
    benching = plan([Question.of(prompt) for prompt in prompts], [Setting.of(options)], options, repeats)
    return check.check_plan(pair, chosen, 24 if quick else 48), benching


def measure_pair(pair: "LoadedPair", checking: Plan, benching: Plan, send: Callable[..., None]) -> None:
    """Run check, tune and bench; send their results as they come, unfinished ones too."""
    from app.engine.drafting_state import save
    from mlx_spec.calibrate import calibrate

    send("part", "loaded", {"weight_bytes": pair.memory_bytes, "notes": list(pair.notes)})
    for collector, complete in _by_prompt(pair, checking, lambda text: send("step", f"check: {text}")):
        send("part", "check", {"complete": complete, **check.as_json(collector.measured())})
    send("step", "measuring rounds")
    calibration = calibrate(pair.engine)
    save(pair)
    send("part", "tune", tune.as_json(calibration))
    options, repeats = benching.options, benching.repeats
    about = {"max_tokens": options.max_tokens, "repeats": repeats, "temperature": options.temperature}
    for collector, complete in _by_prompt(pair, benching, lambda text: send("step", f"bench: {text}")):
        send("part", "bench", {"complete": complete, **about, **summary(collector.measured())})


def _by_prompt(
    pair: "LoadedPair", plan: Plan, show: Callable[[str], None]
) -> Iterator[tuple[RunCollector, bool]]:
    """After each prompt, the collector and whether the plan is finished."""
    collector = RunCollector(plan)
    for _, runs in groupby(run_plan(pair, collector, show=show), key=lambda run: run.prompt):
        for _ in runs:
            continue
        yield collector, collector.count == plan.count


def main() -> None:
    """Measure the pair that was asked for; send the parts."""
    from app.shell.failures import failure
    from app.shell.runtime import release_streams

    (name, quick), put = asked()

    def send(*message: Any) -> None:
        put(message)

    try:
        from app.engine.loading import load
        from models.pairs.resolve import resolve

        send("step", "loading")
        pair = load(resolve(name))
        measure_pair(pair, *plans(pair, quick), send)
    except Exception as error:  # reported for this pair; the others go on
        send("failed", failure(error)[1])
    finally:
        release_streams()


if __name__ == "__main__":
    main()
