"""`pull`: download a pair."""

from typing import TYPE_CHECKING

from app.commands import arguments as args
from app.shell import exit_codes
from app.shell.output import Progress as Line
from app.shell.output import talk

if TYPE_CHECKING:
    from models.hub.progress import Progress

EXAMPLE = """\b
Examples:
  mlx-spec pull smollm2-1.7b
  mlx-spec pull --target mlx-community/Qwen3-8B-4bit --draft mlx-community/Qwen3-0.6B-4bit"""


def command(
    name: args.CatalogueName = None,
    target: args.Target = None,
    draft: args.Draft = None,
    revision: args.Revision = None,
) -> int:
    """Download a pair.

    The files go into the Hub's own cache, where other programs find them too.

    Ctrl+C stops: what came stays, and the next pull goes on from there.
    """
    from app.shell.interrupt import Interrupt
    from models.hub.download import pull
    from models.size_text import size_text

    spec = args.named_pair(name, target, draft, revision)
    if name is not None and draft is None:
        _say_what_to_expect(name)
    report, brought, notes = _Report(), 0, ()
    with Interrupt() as interrupt:
        try:
            for progress in pull(spec, cancelled=lambda: interrupt.pressed):
                report.show(progress)
                brought, notes = progress.transferred_bytes, progress.notes
        finally:
            report.clear()
    for note in notes:
        talk(note)
    came = f"{size_text(brought)} downloaded" if brought else "nothing had to be downloaded"
    talk(f"{spec.name} is here: {came}.")
    return exit_codes.DONE


def _say_what_to_expect(name: str) -> None:
    """Does it fit, how fast will it be. A pair may be fetched for another machine: this only warns."""
    from app.shell.expected_speed import sentence
    from app.shell.pull_text import warning
    from models.pairs.catalogue import find
    from models.speed.fit import fit
    from models.speed.machine import this_chip
    from models.speed.roofline import expect

    pair = find(name)
    if not_fitting := warning(fit(pair)):
        talk(not_fitting)
    if (chip := this_chip()) and (expected := expect(pair, chip)):
        talk(sentence(name, expected))


class _Report:
    """A line that is written over on a terminal; elsewhere a line per phase and tenth."""

    def __init__(self) -> None:
        self._line = Line()
        self._said = ("", 0)

    def show(self, progress: "Progress") -> None:
        if progress.phase == "done":
            return
        if self._line.seen:
            self._line.show(_text(progress))
        elif (step := (progress.phase, int(progress.fraction * 10))) != self._said:
            self._said = step
            talk(_text(progress))

    def clear(self) -> None:
        self._line.clear()


def _text(progress: "Progress") -> str:
    from app.shell.pull_text import parts

    text = ", ".join(parts(progress))
    return text[0].upper() + text[1:]
