"""Loading the pair that a command names, and measuring what drafting costs with it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from app.engine.chat_prompt import thinks
from app.engine.loading import load
from app.settings.config import read_config
from app.settings.options import AUTO, AnswerOptions, check_drafters, unobeyed
from app.shell.interrupt import Interrupt
from app.shell.output import Progress, talk
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from mlx_spec.calibrate import Calibration
    from models.load.engine import LoadedPair


def print_config_problems() -> None:
    for problem in read_config().problems:
        talk(problem)


def loaded_pair(spec: PairSpec) -> "LoadedPair":
    """Load the pair, and name the mistakes of config.toml. Everything it does must run on this thread."""
    print_config_problems()
    with Progress() as progress:
        progress.show(f"Loading {spec.name} ...")
        pair = load(spec, progress.show)
    for note in pair.notes:
        talk(note)
    return pair


@contextmanager
def tuned_pair(
    spec: PairSpec, options: AnswerOptions, check: Callable[["LoadedPair"], object] = lambda pair: None
) -> Iterator["LoadedPair"]:
    """`loaded_pair`, calibrated first if the draft length is adaptive and nothing is known of it, unless
    `check` raises; saves on exit what was learned."""
    pair = loaded_pair(spec)
    check_drafters(options.drafter, spec.name, pair.engine.drafter_names)
    if options.think != AUTO and (note := unobeyed(options.think, spec.name, thinks(pair.tokenizer))):
        talk(note)
    if options.draft_length is not None or options.drafter == "none":
        yield pair
        return
    from app.engine import drafting_state

    if not drafting_state.restore(pair):
        check(pair)
        measured(pair)
    try:
        yield pair
    finally:
        drafting_state.save(pair)


def measured(pair: "LoadedPair") -> tuple["Calibration", bool]:
    """Measure what drafting costs with the pair, and save it; False if Ctrl+C ended it early."""
    from app.engine import drafting_state
    from mlx_spec.calibrate import calibrate

    text = "Measuring what drafting costs here, once"
    with Progress() as line, Interrupt() as interrupt:
        if not line.seen:
            talk(f"{text} (about 5 s, longer while kernels are built; Ctrl+C skips).")
        calibration = calibrate(
            pair.engine,
            lambda done, total: line.show(f"{text}: {done} of {total}. Ctrl+C skips."),
            lambda: interrupt.pressed,
        )
    if interrupt.pressed and drafting_state.restore(pair):
        talk("Measuring was cut short: what was known before is kept.")
        return calibration, False
    if not drafting_state.save(pair):
        talk(f"Not saved: {drafting_state.state_file(pair)} cannot be written. See `mlx-spec doctor`.")
    if interrupt.pressed:
        talk("Measuring was cut short: its timings so far are used, and answers add to them.")
    return calibration, not interrupt.pressed
