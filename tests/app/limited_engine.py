"""The real engine process with little memory: hardly any can be allocated once a pair is loaded and warm."""

import re
import resource
import sys
from multiprocessing.connection import Connection
from pathlib import Path

from app.engine.drafting_state import TunedSession
from app.engine.process import serve
from app.engine.protocol import Answer
from app.settings.options import AnswerOptions
from app.shell import runtime
from models.load.engine import load
from models.pairs.pair import PairSpec

ROOM_BYTES = 8_000_000


def open_pair(spec: PairSpec, show: object) -> TunedSession:
    session = TunedSession(load(spec))
    session.is_tuned = True
    warm = [{"role": "user", "content": "hello"}]
    list(session.answer(Answer(0, warm, AnswerOptions(max_tokens=8))))  # type: ignore[arg-type]
    used = re.search(r"VmData:\s+(\d+) kB", Path("/proc/self/status").read_text())
    assert used is not None
    limit = int(used[1]) * 1024 + ROOM_BYTES
    resource.setrlimit(resource.RLIMIT_DATA, (limit, resource.RLIM_INFINITY))
    return session


if __name__ == "__main__":
    runtime.prepare()
    serve(
        Connection(int(sys.argv[1]), writable=False), Connection(int(sys.argv[2]), readable=False), open_pair
    )
