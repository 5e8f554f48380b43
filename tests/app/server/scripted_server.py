"""The server around the scripted engine: `python -m tests.app.server.scripted_server [PAIR [AT_ONCE]]`."""

import os
import sys
from functools import partial

from app.engine.client import EngineClient
from app.server import gate, request_queue, run, service, slow_heads
from mlx_spec.types import Options
from models.pairs.pair import PairSpec, Source

ENGINE = (sys.executable, "-m", "tests.app.scripted_engine")

if __name__ == "__main__":
    name = sys.argv[1] if len(sys.argv) > 1 else "scripted"
    service.EngineClient = partial(EngineClient, command=ENGINE)  # type: ignore[misc, assignment]
    request_queue.MOST_WAITING = 4
    gate.SLOW_READER_SECONDS = slow_heads.HEAD_SECONDS = 1.0
    pair = PairSpec(name, Source("test/target"), Source("test/draft"))
    at_once = int(sys.argv[2]) if len(sys.argv) > 2 else 1
    key = os.environ.get("MLX_SPEC_API_KEY")
    origins = [origin] if (origin := os.environ.get("ORIGIN")) else []
    where = {"host": "localhost", "port": 0, "key": key, "origins": origins}
    run.run_server(pair, Options(), at_once=at_once, **where)  # type: ignore[arg-type]
