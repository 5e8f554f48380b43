"""Several processes on this machine that find each other as several Macs do, over loopback."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

ROOT = Path(__file__).parents[1]


def start_ranks(
    count: int, arguments: Sequence[str], folder: Path, others: Sequence[str] | None = None
) -> list["subprocess.Popen[str]"]:
    """Start `python -m ARGUMENTS` so often, the first as rank 0; the others with their own, if given."""
    with ExitStack() as stack:
        free = [stack.enter_context(socket.create_server(("127.0.0.1", 0))) for _ in range(count)]
        places = [[f"127.0.0.1:{each.getsockname()[1]}"] for each in free]
    hosts = folder / "hosts.json"
    hosts.write_text(json.dumps(places))
    return [
        subprocess.Popen(
            [sys.executable, "-m", *(others if rank and others else arguments)],
            cwd=ROOT,
            env={**os.environ, "MLX_HOSTFILE": str(hosts), "MLX_RANK": str(rank)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(count)
    ]


def ends(ranks: Sequence["subprocess.Popen[str]"]) -> list[tuple[int, str, str]]:
    """Exit code, stdout and stderr of each; those that are left after three minutes are killed."""
    try:
        texts = [rank.communicate(timeout=180) for rank in ranks]
    except subprocess.TimeoutExpired:
        for rank in ranks:
            rank.kill()
        texts = [rank.communicate() for rank in ranks]
    return [(rank.returncode, *text) for rank, text in zip(ranks, texts, strict=True)]
