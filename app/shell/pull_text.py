"""Downloads in words: the same on the command line and on the screens."""

from models.hub.progress import Phase, Progress
from models.size_text import size_text
from models.speed.fit import Fit
from models.time_text import time_text

PHASES: dict[Phase, str] = {
    "asking": "looking up the files",
    "tokenizers": "fetching the tokenizers",
    "weights": "fetching the weights",
    "checking": "checking the files",
    "done": "done",
}


def parts(progress: Progress) -> list[str]:
    """Phase, share, bytes, speed and time left, as far as they are known."""
    out: list[str] = []
    # The weights take almost all of the time: their bytes say enough.
    if progress.phase != "weights" or not progress.total_bytes:
        out.append(PHASES[progress.phase])
    if progress.total_bytes:
        out.append(f"{progress.fraction:.0%}")
        out.append(f"{size_text(progress.done_bytes)} of {size_text(progress.total_bytes)}")
    if progress.wait_seconds and (progress.stalled_seconds or not progress.bytes_per_second):
        out.append(f"the Hub asks to wait {time_text(progress.wait_seconds)} (error 429)")
    elif progress.stalled_seconds:
        out.append(f"stalled, no data for {progress.stalled_seconds:.0f} s")
    elif progress.bytes_per_second:
        out.append(f"{size_text(int(progress.bytes_per_second))}/s")
        if progress.seconds_left is not None:
            out.append(f"{time_text(progress.seconds_left)} left")
    return out


def warning(fit: Fit, *, of_disk: bool = False) -> str:
    """A sentence on a pair that memory is too small for, or just fits. `of_disk`: or the disk, which a pull
    that has begun tells itself."""
    fits = fit.verdict == "fits" or (fit.verdict == "does not fit" and fit.memory_share <= 1 and not of_disk)
    return "" if fits else f"{fit.verdict.capitalize()} here: it {fit.why}."
