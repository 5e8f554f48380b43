"""`pull`: download a pair."""

from app.commands import arguments as args
from app.shell.expected_speed import sentence
from app.shell.interrupt import Interrupt
from app.shell.output import Progress as Line
from app.shell.output import talk
from app.shell.pull_text import parts, warning
from models.hub.download import pull
from models.hub.progress import Progress
from models.pairs.catalogue import find
from models.size_text import size_text
from models.speed import machine
from models.speed.fit import fit
from models.speed.roofline import expect

EXAMPLE = """\b
Examples:
  mlx-spec pull smollm2-1.7b
  mlx-spec pull --target mlx-community/Qwen3-8B-4bit --draft mlx-community/Qwen3-0.6B-4bit"""


def command(
    name: args.CatalogueName = None,
    target: args.Target = None,
    draft: args.Draft = None,
) -> None:
    """Download a pair.

    The files go into the Hub's own cache, where other programs find them too.

    Ctrl+C stops: what was downloaded stays, and the next pull goes on from there.
    """
    spec = args.named_pair(name, target, draft)
    if not (name or draft):
        args.suggest_draft(spec)
    sized = name is not None and draft is None
    if sized and name:
        _print_expectation(name)
    brought, notes, shown = 0, (), None
    with Interrupt() as interrupt, Line() as line:
        for progress in pull(spec, cancelled=lambda: interrupt.pressed):
            brought, notes = progress.transferred_bytes, progress.notes
            if not sized and progress.phase not in ("asking", "done"):
                sized = True
                _print_too_large(progress.total_bytes, line)
            step = progress.phase, int(progress.fraction * 10)  # without a terminal, one line per step
            if line.seen:
                line.show(_text(progress))
            elif progress.phase != "done" and step != shown:
                shown = step
                talk(_text(progress))
    for note in notes:
        talk(note)
    came = f"{size_text(brought)} downloaded" if brought else "nothing had to be downloaded"
    talk(f"{spec.name} is here: {came}.")


def _print_expectation(name: str) -> None:
    """Print whether it fits and how fast it will be; only warn, it may be meant for another machine."""
    pair = find(name)
    if not_fitting := warning(fit(pair)):
        talk(not_fitting)
    if (chip := machine.this_chip()) and (expected := expect(pair, chip)):
        talk(sentence(expected))


def _print_too_large(size: int, line: Line) -> None:
    """Warn of a download that is larger than the memory."""
    room = machine.this_machine().memory_bytes
    if size > room:
        line.clear()
        talk(f"Does not fit here: {size_text(size)} to download, {size_text(room)} of memory can be used.")


def _text(progress: Progress) -> str:
    text = ", ".join(parts(progress))
    return text[0].upper() + text[1:]
