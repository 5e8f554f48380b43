import subprocess
import sys

import pytest

PROGRAM = """
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
    program = PROGRAM.format(drawing=drawing)
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=30)
    assert done.stdout.splitlines() == [expected, expected], done.stderr
