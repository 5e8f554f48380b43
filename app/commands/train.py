"""`train`: make a drafter for a target."""

import time
from collections.abc import Mapping
from typing import Annotated, Any

import typer

from app.history.answers import answers_folder
from app.shell import exit_codes, runtime
from app.shell.errors import BadInput
from app.shell.machine import circumstances
from app.shell.output import Progress, data, talk
from models.documents.folder import named_documents
from models.hub.endpoint import check_variables
from models.pairs.resolve import target_spec

EXAMPLE = """\b
Examples:
  mlx-spec train smollm2-135m --dry-run
  mlx-spec train smollm2-135m --tokens 2000000 --hours 8
  mlx-spec train smollm2-135m --from-chats --from my-head
  mlx-spec train smollm2-135m --kind layer_skip
  mlx-spec train ~/models/qwen3-4b --kind model --layers 4 --width 1024 --texts ~/notes"""

LEARNT = ("--tokens", "--texts", "--from-chats", "--hours", "--bits")
SIZED = (*LEARNT, "--layers", "--width")
KINDS: dict[str, tuple[str, ...]] = {
    "eagle": (*LEARNT, "--from"),
    "medusa": (*LEARNT, "--from"),
    "model": (*SIZED, "--from"),
    "characters": SIZED,
    "layer_skip": (),
}
"""The kinds of drafter, and the options that apply to each."""


def command(
    target: Annotated[
        str,
        typer.Argument(metavar="TARGET", help="A pair's name, a Hub repository, a folder or a GGUF file."),
    ],
    kind: Annotated[
        str, typer.Option(metavar="|".join(KINDS), help="The kind of drafter to train.")
    ] = "eagle",
    tokens: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1000, help="Tokens (or characters) of text to learn from; default 1,000,000."
        ),
    ] = None,
    texts: Annotated[
        list[str] | None,
        typer.Option(metavar="FOLDER|FILE", help="Texts to learn from, before the target's own. Repeatable."),
    ] = None,
    from_chats: Annotated[
        bool,
        typer.Option("--from-chats", help="Learn from your saved answers, before the target's own texts."),
    ] = False,
    hours: Annotated[
        float | None,
        typer.Option(metavar="N", min=0.01, help="Stop after this time, and keep the best drafter so far."),
    ] = None,
    bits: Annotated[
        int | None,
        typer.Option(metavar="N", help="Bits of the drafter's weights: 8 or 4; float16 if left out."),
    ] = None,
    layers: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            min=1,
            help="Layers of a model (default: a quarter of the target's, at most 4) or of characters (4).",
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            metavar="N", min=1, help="Width of a model (default: half the target's) or of characters (256)."
        ),
    ] = None,
    base: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="FOLDER|REPO",
            help="Start from this drafter: a head of the same kind, or a small model.",
        ),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print an estimate of time and disk, and train nothing.")
    ] = False,
) -> int:
    """Train a drafter for a target on text that the target writes.

    eagle and medusa are heads that read the target's hidden states; model is a small model; characters is a
    smaller model that reads characters; layer_skip searches for the layers of the target that draft best.

    Ctrl+C stops the training at any time, and the same command resumes it. Afterwards every command uses
    the drafter with this target; only the `characters` kind has to be named by --draft.
    """
    given = {
        "--tokens": tokens, "--texts": texts, "--from-chats": from_chats, "--hours": hours, "--bits": bits,
        "--layers": layers, "--width": width, "--from": base,
    }  # fmt: skip
    _check_options(kind, given)
    if base and (layers or width):
        raise BadInput(
            "--from names a model, which has its layers and width. Give it without --layers and --width."
        )
    if bits not in (None, 4, 8):
        raise BadInput(f"--bits is {bits}; it must be 8 or 4, or left out.")
    spec, places = target_spec(target), [named_documents(place) for place in texts or ()]
    if from_chats:
        if not ((answers := answers_folder()) and any(answers.iterdir())):
            raise BadInput("--from-chats: no answer is saved yet. Leave it out.")
        places.append(str(answers))
    with Progress() as line:
        line.show(f"Loading {spec.name} ...")
        runtime.prepare()
        check_variables()  # wrong ones crash the model libraries
        from models.training.work import TrainRequest
        from models.training.works import WORKS
        from models.training.workshop import Workshop

        request = TrainRequest(tokens, tuple(places), hours, bits, layers, width, base)
        shop = Workshop(spec, kind)
        work = WORKS[kind](shop, request)
        for note in work.notes:
            line.clear()
            talk(note)
        if dry_run:
            line.show("Measuring how long training takes ...")
            data(work.estimate())
            return exit_codes.DONE
        shop.check_place()
        line.show("Waiting for the first text ...")
        shown, found = time.monotonic(), ""

        def report(step: Any) -> None:
            nonlocal shown, found
            line.show(str(step))
            if step.found not in ("", found) or (not line.seen and time.monotonic() - shown > 60):
                line.clear()
                talk(str(step))
                shown, found = time.monotonic(), step.found

        try:
            work.run(report)
        except KeyboardInterrupt:
            line.clear()
            talk(f"Stopped. {work.stopped()}")
            return exit_codes.INTERRUPTED
    made, text = work.finish(circumstances())
    data(text)
    return exit_codes.DONE if made else exit_codes.NO


def _check_options(kind: str, given: Mapping[str, object]) -> None:
    """Raise BadInput for an unknown kind, or an option that does not apply to the kind."""
    if kind not in KINDS:
        raise BadInput(f"--kind is {kind or 'empty'}; it must be one of: {', '.join(KINDS)}.")
    for option, value in given.items():
        if value and option not in KINDS[kind]:
            fitting = [name for name, options in KINDS.items() if option in options]
            raise BadInput(
                f"--kind {kind} has no use for {option}; it is for {', '.join(fitting)}. Leave it out."
            )
