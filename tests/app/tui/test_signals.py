import os
import signal
import subprocess
import sys
import time

import pytest

from tests.app.tui.chat_driver import OpenChat

HANGS = """
import asyncio, threading
from app.tui.terminal.signals import end_on_signals

async def main():
    end_on_signals({leave}, grace={grace})
    print("ready", flush=True)
    {waits}

{task}
"""


HANGING = {"grace": 0.3, "leave": "threading.Event().wait", "task": "asyncio.run(main())"}
SLEEPS, IS_HELD_UP = "await asyncio.sleep(60)", "threading.Event().wait()"


@pytest.mark.parametrize(("number", "waits"), [(signal.SIGHUP, SLEEPS), (signal.SIGTERM, IS_HELD_UP)])
def test_a_program_that_hangs_while_it_ends_or_before_is_ended_by_force(number, waits):
    """It waits forever, as for output to a terminal that is gone."""
    program = HANGS.format(**HANGING, waits=waits)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        start = time.monotonic()
        child.send_signal(number)
        assert child.wait(60) == 128 + number
        assert time.monotonic() - start > 0.25, "it had its time to save"


def test_a_program_that_ends_in_time_ends_as_it_likes():
    task = "loop = asyncio.new_event_loop(); task = loop.create_task(main())\n"
    task += "try: loop.run_until_complete(task)\nexcept asyncio.CancelledError: raise SystemExit(7)"
    program = HANGS.format(grace=60, leave="lambda: task.cancel()", task=task, waits=SLEEPS)
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE) as child:
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGTERM)
        assert child.wait(60) == 7


def test_a_closed_terminal_ends_a_program_that_gets_no_signal_of_it():
    """The terminal's first process keeps SIGHUP to itself, as `make` does."""
    program = HANGS.format(**HANGING, waits=SLEEPS)
    terminal, ours = os.openpty()
    with subprocess.Popen([sys.executable, "-c", program], stdin=ours, stdout=subprocess.PIPE) as child:
        os.close(ours)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        with pytest.raises(subprocess.TimeoutExpired):
            child.wait(1.5)
        os.close(terminal)
        assert child.wait(60) == 128 + signal.SIGHUP


async def test_ctrl_z_stops_nothing_where_no_shell_would_go_on(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in `ssh -t HOST mlx-spec chat`: nothing could continue what is stopped."""
    monkeypatch.setattr(os, "getsid", lambda _: os.getpgrp())
    async with open_chat() as chat:
        await chat.noticed("There is no shell to return to.", by="ctrl+z")


STOPS = """
import asyncio, os, signal, threading, time
from app.tui.terminal.signals import suspend_between_steps

output, free, drawing = threading.Lock(), [], {drawing}

def handle(number, frame):
    free.append(output.acquire(timeout=0.3) if drawing else "at once")
    if drawing:
        output.release()

async def main():
    signal.signal(signal.SIGTSTP, handle)
    signal.signal(signal.SIGCONT, handle)
    suspend_between_steps(lambda: drawing)
    for number in (signal.SIGTSTP, signal.SIGCONT):
        with output:  # as while the screen is written
            os.kill(os.getpid(), number)
            time.sleep(0.05)
            within = len(free)
        await asyncio.sleep(0.05)
        print(within, free, flush=True)
        free.clear()

asyncio.run(main())
"""


@pytest.mark.parametrize(("drawing", "expected"), [(True, "0 [True]"), (False, "1 ['at once']")])
def test_stopping_waits_for_writing_unless_another_has_the_terminal(drawing: bool, expected: str) -> None:
    program = STOPS.format(drawing=drawing)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == [expected, expected], done.stderr
