"""The server around the scripted engine: `python -m tests.app.server.scripted_server [PAIR [AT_ONCE]]`."""

import os
import sys
from collections.abc import Callable
from functools import partial

from app.engine.client import EngineClient
from app.server import gate, request_queue, run, service
from app.settings.options import AnswerOptions
from models.pairs.pair import PairSpec, Source

ENGINE = (sys.executable, "-m", "tests.app.scripted_engine")


def serve(name: str, change: Callable[[object, str, object], None], at_once: int = 1) -> None:
    """Serve a pair of this name until it ends; `change` is `setattr` or a test's."""
    change(service, "EngineClient", partial(EngineClient, command=ENGINE))
    change(request_queue, "MOST_WAITING", 4)
    change(gate, "SLOW_READER_SECONDS", 1.0)
    change(run, "HEAD_SECONDS", 1.0)
    change(gate, "MOST_CONNECTIONS", 32)
    pair = PairSpec(name, Source("test/target"), Source("test/draft"))
    key, origin = os.environ.get("MLX_SPEC_API_KEY"), os.environ.get("ORIGIN")
    origins = [origin] if origin else []
    run.run_server(
        pair, AnswerOptions(), host="localhost", port=0, key=key, at_once=at_once,
        names=["listed.example"], origins=origins,
    )  # fmt: skip


if __name__ == "__main__":
    serve(sys.argv[1] if len(sys.argv) > 1 else "scripted", setattr, *map(int, sys.argv[2:]))
