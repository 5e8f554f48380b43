"""Models on the Hub by words in their names.

A child process asks: the Hub's library is slow to load, and reads its settings once.
"""

import json
import subprocess
import sys
from dataclasses import dataclass
from typing import Any

import models.errors
from models.errors import MachineTrouble
from models.hub.download import environment
from models.hub.endpoint import check_endpoint

SECONDS = 30
"""Without an answer."""


@dataclass(frozen=True, slots=True)
class FoundModel:
    """A repository with MLX weights."""

    repo: str
    bytes: int
    """Of its weights; 0 where the Hub does not say."""
    licence: str
    downloads: int
    """In the last 30 days."""
    gated: bool
    """Its terms have to be accepted first."""


def search(words: str) -> list[FoundModel]:
    """The models most often downloaded first.

    Raises:
        MachineTrouble: the Hub cannot be reached, or refuses.
    """
    check_endpoint()
    command = [sys.executable, "-P", "-m", "models.hub.search_child", words]
    try:
        ended = subprocess.run(
            command, stdin=subprocess.DEVNULL, capture_output=True, env=environment(), timeout=SECONDS
        )
    except subprocess.TimeoutExpired:
        raise MachineTrouble(f"The Hub did not answer within {SECONDS} s. Search again.") from None
    lines = ended.stdout.splitlines()
    if ended.returncode or not lines:
        why = (ended.stderr.decode(errors="replace").strip().splitlines() or ["no reason given"])[-1]
        raise MachineTrouble(f"The search ended unexpectedly: {why}")
    answer: Any = json.loads(lines[-1])
    if isinstance(answer, dict):
        raise getattr(models.errors, answer["error"])(answer["message"])
    return [FoundModel(**found) for found in answer]
