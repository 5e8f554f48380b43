"""What could keep the program from working on this machine, found by trying it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from app.shell import runtime
from app.shell.machine import device_name, versions
from models.size_text import size_text
from models.speed.machine import free_disk, this_machine

State = Literal["good", "note", "bad"]
"""`note`: works, but could be better or is good to know. `bad`: something will not work."""

LOW_DISK = 5 * 10**9
"""Bytes; less does not hold the smallest real pair and room to work."""
HUB_TIMEOUT = 5
"""Seconds."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was looked at."""

    name: str
    value: str
    state: State = "good"
    mend: str = ""
    """What to do about it."""


def diagnose() -> Iterator[Finding]:
    """Look at everything. A look that fails is itself a bad finding."""
    for look in (_program, _machine, _mlx, _builtin_pair, _pulled_pairs, _hub, _disk, _terminal):
        try:
            yield from look()
        except Exception as error:  # an unforeseen failure must not hide the other findings
            name = look.__name__.strip("_").replace("_", " ")
            yield Finding(name, f"{type(error).__name__}: {error}", "bad", "Run `make setup` again.")


def _program() -> Iterator[Finding]:
    for name, number in versions().items():
        yield Finding(name, number)


def _machine() -> Iterator[Finding]:
    yield Finding("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    if sys.platform == "darwin" and platform.machine() != "arm64":
        yield Finding(
            "processor",
            "Python runs as an Intel program",
            "bad",
            "Install a Python for Apple silicon (arm64).",
        )
    machine = this_machine()
    kind = "for models on the GPU" if machine.has_metal else "physical; without Metal models run on the CPU"
    yield Finding("memory", f"{size_text(machine.memory_bytes)} {kind}")


def _mlx() -> Iterator[Finding]:
    runtime.prepare()
    import mlx.core as mx

    product = mx.ones((8, 8)) @ mx.ones((8, 8))
    works = product.sum().item() == 512.0
    again = "Reinstall MLX: `make setup`."
    yield Finding("device", device_name(), "good" if works else "bad", "" if works else again)
    blas = runtime.blas()
    if blas == "reference":
        mend = "apt install libopenblas0-pthread: decoding is then many times faster."
        yield Finding("BLAS", blas, "note", mend)
    else:
        yield Finding("BLAS", blas)


def _builtin_pair() -> Iterator[Finding]:
    from models.pairs.catalogue import DEFAULT_PAIR, find
    from models.pairs.installed import installed

    if installed(find(DEFAULT_PAIR).spec):
        yield Finding("built-in pair", "complete")
    else:
        yield Finding("built-in pair", "files are missing or broken", "bad", "Install the program again.")


def _pulled_pairs() -> Iterator[Finding]:
    from models.pairs.catalogue import DEFAULT_PAIR, all_pairs
    from models.pairs.installed import installed

    here = [pair.name for pair in all_pairs() if pair.name != DEFAULT_PAIR and installed(pair.spec)]
    yield Finding("pulled pairs", ", ".join(here) or "none")


def _hub() -> Iterator[Finding]:
    from models.hub.endpoint import endpoint, is_web_address

    if not is_web_address():
        mend = "Unset HF_ENDPOINT, or set it to one like https://huggingface.co."
        yield Finding("Hub", f"HF_ENDPOINT is '{endpoint()}', which is no web address", "bad", mend)
        return
    from huggingface_hub import constants, get_token
    from huggingface_hub.utils import get_session

    try:
        token = get_token()
    except OSError as error:
        mend = "Set HF_HOME to a folder that can be read."
        yield Finding("Hub token", f"{error.filename} cannot be read ({error.strerror})", "bad", mend)
    else:
        mend = "" if token else "Only gated repositories need one: `hf auth login`."
        yield Finding("Hub token", "set" if token else "none", "good" if token else "note", mend)
    if constants.HF_HUB_OFFLINE:
        mend = "Unset HF_HUB_OFFLINE to download."
        yield Finding("Hub", "offline mode (HF_HUB_OFFLINE)", "note", mend)
        return
    try:
        answer = get_session().head(constants.ENDPOINT, timeout=HUB_TIMEOUT, follow_redirects=True)
    except Exception as error:  # whatever the network raises, it means the same here
        mend = "Pulling pairs needs it; everything else works without. Check the network or HF_ENDPOINT."
        yield Finding("Hub", f"{endpoint()} does not answer ({type(error).__name__})", "note", mend)
        return
    if answer.status_code < 500:
        yield Finding("Hub", f"{endpoint()} answers")
    else:
        yield Finding("Hub", f"{endpoint()} answers with {answer.status_code}", "note", "Try again later.")


def _disk() -> Iterator[Finding]:
    from models.paths import data_folder, hub_cache

    for name, folder in (("models", hub_cache()), ("own files", data_folder())):
        there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        free = free_disk(folder)
        value = f"{folder}: {size_text(_size(folder))} used, {size_text(free)} free"
        variable = "HF_HOME" if name == "models" else "MLX_SPEC_HOME"
        if not os.path.isdir(there):
            mend = f"Not a folder: {there}. Set {variable} to a folder."
            yield Finding(f"folder of {name}", value, "bad", mend)
        elif not os.access(there, os.W_OK):
            yield Finding(
                f"folder of {name}", value, "bad", f"Not writable. Set {variable} to another folder."
            )
        elif name == "models" and free < LOW_DISK:
            yield Finding(
                f"folder of {name}", value, "note", "Little room: `mlx-spec remove NAME` frees some."
            )
        else:
            yield Finding(f"folder of {name}", value)


def _size(folder: Path) -> int:
    """Bytes on disk; links into the Hub's blob store are not counted twice."""
    total = 0
    for parent, _, names in os.walk(folder):
        for name in names:
            path = Path(parent, name)
            if not path.is_symlink():
                total += path.stat().st_size
    return total


def _terminal() -> Iterator[Finding]:
    encoding = (sys.stdout.encoding or "unknown").lower()
    if not sys.stdout.isatty():
        yield Finding("terminal", "none: the output goes to a pipe or file")
        return
    size = shutil.get_terminal_size()
    value = f"{os.environ.get('TERM', 'unknown')}, {size.columns} x {size.lines}, {encoding}"
    if os.environ.get("TERM", "dumb") in ("dumb", "unknown"):
        yield Finding("terminal", value, "bad", "The chat needs a terminal that moves the cursor; set TERM.")
    elif "utf" not in encoding:
        yield Finding("terminal", value, "note", "Use a UTF-8 locale, for example LANG=en_US.UTF-8.")
    elif size.columns < 60 or size.lines < 16:
        yield Finding("terminal", value, "note", "Make the window larger: 60 x 16 at least.")
    else:
        yield Finding("terminal", value)
