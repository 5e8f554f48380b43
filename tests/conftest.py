"""What every test shares: MLX without run-time compilation, the stock BLAS, nobody's config.toml.

Compiling needs a C++ compiler and seconds per function; the stock BLAS gives each row of a matmul
the same bits whatever their number, which the equality tests rest on.

Bytecode is kept, also for the many processes started here, whatever the environment says: without it each
compiles the whole program, and each of pytest's workers rewrites every test, before it begins. What
`quick_start` holds is for them as well.

MLX's CPU backend hands every operation to a thread of its own. Where all cores are busy, Linux switches to
that thread at each one, at as much cost again as the work; as a batch job it waits until there is a queue.
"""

import gc
import os
import signal
import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from tests import type_checks

os.environ["MLX_DISABLE_COMPILE"] = "1"
os.environ["MLX_SPEC_BLAS"] = "reference"
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
QUICK_START = str(Path(__file__).parent / "quick_start")
if QUICK_START not in (paths := os.environ.get("PYTHONPATH", "").split(os.pathsep)):
    os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [QUICK_START, *paths]))
if sys.platform == "linux":
    with suppress(OSError):  # A sandbox may forbid it.
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as a shell starts what runs in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)
type_checks.install()
gc.disable()  # while all is imported: a fifth of that


@pytest.hookimpl(wrapper=True)
def pytest_xdist_auto_num_workers() -> Generator[None, int, int]:
    """Three more than there are cores: tests of screens, servers and downloads wait half of their time."""
    return (yield) + 3


def pytest_collection_finish() -> None:
    """What is imported now stays; the collector need not look through it, now or again and again.

    Nor so often as it would: a tenth of what tests of screens cost.
    """
    gc.enable()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


@pytest.fixture(scope="session", autouse=True)
def _a_home_of_the_tests(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Settings and files of the person who runs the tests stay out of them. All workers have one share."""
    own = tmp_path_factory.getbasetemp()
    with pytest.MonkeyPatch.context() as patch:
        share = own.parent if "PYTEST_XDIST_WORKER" in os.environ else own
        patch.setenv("MLX_SPEC_TESTS_SHARE", str(share))
        patch.setenv("MLX_SPEC_HOME", str(tmp_path_factory.mktemp("home")))
        yield
