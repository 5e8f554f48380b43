"""`doctor`: what is wrong on this machine, found by trying it, and how to fix it."""

import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Literal

from app.commands import arguments as args
from app.settings.config import read_config
from app.shell import exit_codes, runtime
from app.shell.machine import device_name, versions
from app.shell.output import data, is_dumb, json_data
from app.shell.printable import one_line
from models.files import bytes_below
from models.hub.endpoint import endpoint, wrong_variable
from models.pairs import installed
from models.pairs.catalogue import BUILTIN_PAIR, REAL_PAIR, all_pairs, find
from models.pairs.own_drafters import own_drafters
from models.paths import cache_variable, data_folder, hub_cache
from models.size_text import size_text
from models.speed.machine import free_disk, this_machine

State = Literal["good", "note", "bad"]
"""`note`: works, but could be better or is good to know. `bad`: something will not work."""

SIGNS: dict[State, str] = {"good": " ", "note": "!", "bad": "x"}
LOW_DISK = 5 * 10**9
"""Bytes; too little for the smallest real pair and room to work."""
NO_ROOM = 10 * 10**6
"""Bytes; chats, comparisons and what was measured soon take more."""
HUB_SECONDS = 5

EXAMPLE = "\b\nExamples:\n  mlx-spec doctor\n  mlx-spec doctor --json"


@dataclass(frozen=True, slots=True)
class Finding:
    name: str
    value: str
    state: State = "good"
    fix: str = ""


def command(json: args.Json = False) -> int:
    """Find what is wrong on this machine.

    Looks at device, memory, versions, network and folders, and says how to fix what is wrong.
    Exit code 1 if something will not work.
    """
    findings = list(_findings())
    wrong, notes = (sum(finding.state == state for finding in findings) for state in ("bad", "note"))
    if json:
        json_data({"ok": not wrong, "findings": [asdict(finding) for finding in findings]})
    else:
        width = max(len(finding.name) for finding in findings)
        for finding in findings:
            data(f"{SIGNS[finding.state]} {finding.name:<{width}}  {one_line(finding.value)}")
            if finding.fix:
                data(f"  {'':<{width}}  {finding.fix}")
        data(f"{wrong} wrong (x), {notes} worth knowing (!)." if wrong or notes else "Everything works.")
    return exit_codes.NO if wrong else exit_codes.DONE


def _findings() -> Iterator[Finding]:
    """All findings; a check that raises becomes a bad finding."""
    for check in (_machine, _mlx, _pairs, _hub, _folders, _config, _terminal):
        try:
            yield from check()
        except Exception as error:  # an unforeseen failure must not hide the other findings
            name = check.__name__.strip("_")
            yield Finding(name, f"{type(error).__name__}: {error}", "bad", "Run `make setup` again.")


def _checked(name: str, value: str, fix: str, state: State = "note") -> Finding:
    """A finding in `state` if there is a fix, else good."""
    return Finding(name, value, state if fix else "good", fix)


def _machine() -> Iterator[Finding]:
    for name, number in versions().items():
        yield Finding(name, number)
    yield Finding("system", f"{platform.system()} {platform.release()}, {platform.machine()}")
    machine = this_machine()
    kind = "for models on the GPU" if machine.has_metal else "physical; without Metal models run on the CPU"
    yield Finding("memory", f"{size_text(machine.memory_bytes)} {kind}")


def _mlx() -> Iterator[Finding]:
    runtime.prepare()
    import mlx.core as mx

    works = (mx.ones((8, 8)) @ mx.ones((8, 8))).sum().item() == 512.0
    yield _checked("device", device_name(), "" if works else "Reinstall MLX: `make setup`.", "bad")
    slow = runtime.blas() == "reference"
    fix = "apt install libopenblas0-pthread: decoding is then many times faster." if slow else ""
    yield _checked("BLAS", runtime.blas(), fix)


def _pairs() -> Iterator[Finding]:
    fix = "" if installed.installed(find(BUILTIN_PAIR).spec) else "Install the program again."
    yield _checked("built-in pair", "files are missing or broken" if fix else "complete", fix, "bad")
    real = find(REAL_PAIR).spec
    here, missing = installed.installed(real), f"Get it with: {installed.pull_command(real)}"
    yield _checked("real pair", str(real.target) if here else "not here", "" if here else missing)
    others = (pair for pair in all_pairs() if pair.name not in (BUILTIN_PAIR, REAL_PAIR))
    yield Finding("pulled pairs", ", ".join(p.name for p in others if installed.installed(p.spec)) or "none")
    for pair in all_pairs():
        drafters, trouble = own_drafters(pair.target)
        if drafters:
            yield Finding(f"drafters of {pair.name}", ", ".join(f"{k} ({f})" for k, f in drafters.items()))
        for what in trouble:
            yield Finding(
                f"drafters of {pair.name}",
                what,
                "note",
                "Train it again, or delete the folder if it is for no other target.",
            )


def _hub() -> Iterator[Finding]:
    if wrong := wrong_variable():
        name, what, right = wrong
        yield Finding("Hub", f"{name} is {what}", "bad", f"Unset {name}, or set it to one like {right}.")
        return
    from huggingface_hub import constants, get_token
    from huggingface_hub.utils import get_session

    try:
        token = get_token()
        fix = "" if token else "Only gated repositories need one: `hf auth login`."
        yield _checked("Hub token", "set" if token else "none", fix)
    except OSError as error:
        fix = "Set HF_HOME to a folder that can be read."
        yield Finding("Hub token", f"{error.filename} cannot be read ({error.strerror})", "bad", fix)
    if constants.HF_HUB_OFFLINE:
        yield Finding("Hub", "offline mode (HF_HUB_OFFLINE)", "note", "Unset HF_HUB_OFFLINE to download.")
        return
    try:
        answer = get_session().head(constants.ENDPOINT, timeout=HUB_SECONDS, follow_redirects=True)
    except Exception as error:  # every network error means the same here
        fix = "Pulling pairs needs it; everything else works without. Check the network or HF_ENDPOINT."
        yield Finding("Hub", f"{endpoint()} does not answer ({type(error).__name__})", "note", fix)
        return
    failed = answer.status_code >= 500
    value = f"{endpoint()} answers with {answer.status_code}" if failed else f"{endpoint()} answers"
    yield _checked("Hub", value, "Try again later." if failed else "")


def _folders() -> Iterator[Finding]:
    for name, folder, variable in (
        ("models folder", hub_cache(), cache_variable()),
        ("data folder", data_folder(), "MLX_SPEC_HOME"),
    ):
        there = next(place for place in (folder, *folder.parents) if os.path.lexists(place))
        free, fix, state = free_disk(folder), "", "bad"
        if not os.path.isdir(there):
            fix = f"Not a folder: {there}. Set {variable} to a folder."
        elif not os.access(there, os.W_OK):
            fix = f"Not writable. Set {variable} to another folder."
        elif variable != "MLX_SPEC_HOME" and free < LOW_DISK:
            fix, state = "Little room: `mlx-spec remove NAME` frees some.", "note"
        elif free < NO_ROOM:
            fix = f"Almost no room to save chats. Free some, or set {variable} to another disk."
        used = size_text(bytes_below(folder))
        yield _checked(name, f"{folder}: {used} used, {size_text(free)} free", fix, state)


def _config() -> Iterator[Finding]:
    for problem in read_config().problems:
        yield Finding("config.toml", problem, "note", "`mlx-spec config` lists the keys.")


def _terminal() -> Iterator[Finding]:
    if not sys.stdout.isatty():
        yield Finding("terminal", "none: the output goes to a pipe or file")
        return
    size, kind = shutil.get_terminal_size(), os.environ.get("TERM", "unknown")
    encoding = (sys.stdout.encoding or "unknown").lower()
    fix = ""
    if is_dumb():
        fix = "The chat reads and prints lines here. If the terminal can move the cursor, set TERM."
    elif "utf" not in encoding:
        fix = "Use a UTF-8 locale, for example LANG=en_US.UTF-8."
    elif size.columns < 60 or size.lines < 16:
        fix = "Make the window larger: 60 x 16 at least."
    yield _checked("terminal", f"{kind}, {size.columns} x {size.lines}, {encoding}", fix)
