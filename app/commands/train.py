"""`train`: make a drafter for a target."""

import time
from typing import Annotated, Any

import typer

from app.history.answers import answers_folder
from app.shell import exit_codes, runtime
from app.shell.errors import BadInput
from app.shell.interrupt import Interrupt
from app.shell.machine import circumstances
from app.shell.output import Progress, data, talk
from models.documents.folder import named_documents
from models.pairs.resolve import target_spec
from models.size_text import size_text

EXAMPLE = """\b
Examples:
  mlx-spec train smollm2-135m --dry-run
  mlx-spec train smollm2-135m --tokens 2000000 --hours 8
  mlx-spec train ~/models/qwen3-4b --texts ~/notes"""

KINDS = ("eagle", "medusa")


class Stopped(Exception):
    """Ctrl+C."""


def command(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="A pair's name, a Hub repository, a folder or a GGUF file."),
    ],
    kind: Annotated[str, typer.Option(metavar="|".join(KINDS), help="What is made.")] = "eagle",
    tokens: Annotated[int, typer.Option(min=1000, help="Tokens of text that it learns from.")] = 1_000_000,
    texts: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER|FILE", help="Texts to learn from before its own. Repeatable."),
    ] = None,
    from_chats: Annotated[
        bool, typer.Option("--from-chats", help="Learn from your saved answers before its own texts.")
    ] = False,
    hours: Annotated[
        float | None, typer.Option(min=0.01, help="End after so long, with what there is.")
    ] = None,
    bits: Annotated[
        int | None, typer.Option(help="Bits of its weights: 8 or 4; float16 if left out.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what it takes, and end.")] = False,
) -> int:
    """Make a drafter for a target from its own text.

    It may be stopped at any time (Ctrl+C) and goes on where it was. When it is done every command uses it
    with this target.
    """
    if kind not in KINDS:
        raise BadInput(f"--kind is {kind}; it must be one of: {', '.join(KINDS)}.")
    if bits not in (None, 4, 8):
        raise BadInput(f"--bits is {bits}; it must be 8 or 4, or left out.")
    spec, places = target_spec(target), [named_documents(place) for place in texts or ()]
    if from_chats:
        if (answers := answers_folder()) is None:
            raise BadInput("--from-chats: no answer is saved yet. Leave it out.")
        places.append(str(answers))
    with Progress() as line, Interrupt() as interrupt:
        line.show(f"Loading {spec.name} ...")
        runtime.prepare()
        from models.training.workshop import Workshop

        shop = Workshop(spec, kind)
        line.show("Measuring what it takes ...")
        if dry_run:
            _print_estimate(shop.estimate(tokens, writes=True), tokens, str(shop.folder))
            return exit_codes.DONE
        job = shop.job(shop.texts(places), tokens, hours)
        shown = time.monotonic()

        def report(step: Any) -> None:
            nonlocal shown
            if interrupt.pressed:
                raise Stopped
            line.show(_text(step))
            if step.acceptance or (not line.seen and time.monotonic() - shown > 60):
                line.clear()
                talk(_text(step))
                shown = time.monotonic()

        begun = time.monotonic()
        try:
            module, acceptance = job.run(report)
        except Stopped:
            line.clear()
            talk(f"Stopped. The same command goes on from here; what there is lies in {shop.unfinished}.")
            return exit_codes.INTERRUPTED
    about = {
        "tokens": job.tokens_read,
        "acceptance": [round(each, 3) for each in acceptance],
        "hours": round((time.monotonic() - begun) / 3600, 2),
        **circumstances(),
    }
    shop.finish(module, about, bits)
    data(f"{shop.folder} is ready: every command uses it with {spec.name}.")
    data(
        _accepted(acceptance)
        if acceptance
        else "How often it is right was not looked at: it has no text of the target's own."
    )
    return exit_codes.DONE


def _print_estimate(estimate: Any, tokens: int, folder: str) -> None:
    data(f"About {_time(estimate.seconds)} on this machine as it is now, for {tokens:,} tokens of text:")
    data(f"  the target writes them     {_time(estimate.writing)}")
    data(f"  what it makes of them      {_time(estimate.reading)}, {size_text(estimate.disk_bytes)} on disk")
    data(f"  the drafter learns         {_time(estimate.fitting)}")
    data(f"The drafter goes to {folder}. --hours ends it earlier with what there is.")


def _text(step: Any) -> str:
    doing = {"texts": "Texts", "fit": "Learning"}[step.phase]
    share = f"{doing}: {step.done:,} of {step.total:,} tokens, about {_time(step.seconds_left)} left"
    return f"{share}. {_accepted(step.acceptance)}" if step.acceptance else share


def _accepted(acceptance: Any) -> str:
    shares = ", ".join(f"{each:.0%}" for each in acceptance)
    return (
        f"Of drafts on texts it has not seen, the first 1, 2, ... tokens are accepted: {shares} "
        f"({1 + sum(acceptance):.2f} tokens per pass of the target)."
    )


def _time(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 90 * 60 else f"{seconds / 3600:.1f} h"
