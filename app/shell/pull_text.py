"""How far a download is, in words: what the command line and the screens say alike."""

from app.shell.duration_text import duration_text
from models.hub.progress import Phase, Progress
from models.size_text import size_text

PHASES: dict[Phase, str] = {
    "asking": "asking the Hub",
    "tokenizers": "fetching the tokenizers",
    "weights": "fetching the weights",
    "checking": "checking the files",
    "done": "done",
}


def amount(progress: Progress) -> str:
    """`1.2 GB of 4.7 GB`."""
    return f"{size_text(progress.done_bytes)} of {size_text(progress.total_bytes)}"


def pace(progress: Progress) -> list[str]:
    """How fast it goes and how long it still takes, as far as that is known."""
    if progress.stalled_seconds:
        return [f"stalled, no data for {progress.stalled_seconds:.0f} s"]
    if not progress.bytes_per_second:
        return []
    told = [f"{size_text(int(progress.bytes_per_second))}/s"]
    if progress.seconds_left is not None:
        told.append(f"{duration_text(progress.seconds_left)} left")
    return told
