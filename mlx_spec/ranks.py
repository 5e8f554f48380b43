"""Messages between the Macs that share one target, beside the sums of its layers.

The ring neither frames nor checks its data: if one number is missing, every later sum is wrong. So each
message carries its sequence number and a checksum.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from zlib import crc32

import mlx.core as mx
import numpy as np

from mlx_spec.errors import RankLost

WORDS = 16
"""Numbers that each rank sends in an exchange: a sequence number, up to 14 others, a checksum."""
LOOK_SECONDS = 1.0
SILENCE = 60.0
"""Seconds after which another rank is taken to be gone: more than a prefill piece takes."""


class Ranks:
    """One rank's messages. All ranks must make the same calls in the same order."""

    def __init__(self, group: mx.distributed.Group):
        self.group = group
        self.rank, self.size = group.rank(), group.size()
        self._exchanges, self._written = 0, 0
        self._broken = False
        """Whether an exchange or a step was interrupted: other ranks may still wait in it."""
        self._since: float | None = None
        """When the watched exchange or step began, by `time.monotonic`; None: none runs."""

    @property
    def leads(self) -> bool:
        return self.rank == 0

    def watch(self, give_up: Callable[[], object]) -> None:
        """Call `give_up`, from a thread of its own, once an exchange or a step takes `SILENCE`.

        MLX waits for a rank that is gone: over RDMA always, on the ring from its second error on.
        """

        def look() -> None:
            while (since := self._since) is None or time.monotonic() - since < SILENCE:
                time.sleep(LOOK_SECONDS)
            give_up()

        threading.Thread(target=look, name="ranks", daemon=True).start()

    def exchange(self, words: Sequence[int] = (), *, watched: bool = True) -> list[list[int]]:
        """The words of every rank, each from 0 to 2^32 - 1.

        Raises:
            RankLost: a rank is gone, or a message arrived damaged.
        """
        own = np.zeros(WORDS, np.uint32)
        own[0], own[1 : 1 + len(words)] = self._exchanges, words
        own[-1] = crc32(own[:-1].tobytes())
        with self.together(watched=watched):
            gathered = mx.distributed.all_gather(mx.array(own)[None], group=self.group)
            mx.eval(gathered)
            came = np.array(gathered)
            for rank, row in enumerate(came):
                if row[0] != self._exchanges or row[-1] != crc32(row[:-1].tobytes()):
                    raise RankLost(
                        f"A message of rank {rank} arrived damaged (number {self._exchanges}): its program "
                        "ended, or the network failed. Start all of them again."
                    )
        self._exchanges += 1
        return came[:, 1:-1].tolist()

    def decide(self, words: Sequence[int]) -> list[int]:
        """Rank 0's words; those of other ranks are ignored."""
        return self.exchange(words if self.leads else ())[0]

    def compare(self, written: object) -> None:
        """Raise RankLost if another rank wrote something else."""
        self._written = crc32(repr(written).encode(), self._written)
        sums = [words[0] for words in self.exchange([self._written])]
        for rank, each in enumerate(sums):
            if each != sums[0]:
                raise RankLost(
                    f"Rank {rank} wrote another token than rank 0, so the answer ends here. Macs with "
                    "different chips round differently: use Macs of one kind, or leave this one out."
                )

    def send(self, call: str | None, **given: Any) -> None:
        """Rank 0 sends the other ranks a call; None is one step. On these it does nothing."""
        if self.leads:
            body = json.dumps({"do": call, **given}).encode() if call else b""
            self.decide([len(body)])
            if body:
                self._spread(body)

    def receive(self) -> dict[str, Any] | None:
        """On other ranks: the call that rank 0 sent."""
        length = self.exchange(watched=False)[0][0]
        return json.loads(self._spread(bytes(length))) if length else None

    @contextmanager
    def together(self, *, watched: bool = True) -> Iterator[None]:
        """For work that takes all ranks. Raises RankLost if one of them is gone."""
        if self._broken:
            raise RankLost("The connection to another Mac was lost. Start all of them again.")
        before, self._since = self._since, time.monotonic() if watched else None
        try:
            yield
        except BaseException as error:
            self._broken = True
            # MLX has no exception class for this.
            if isinstance(error, RuntimeError) and str(error).startswith(("[ring]", "[jaccl]")):
                raise RankLost(
                    "The connection to another Mac was lost: its program ended, or the network failed "
                    f"({error}). Start all of them again."
                ) from error
            raise
        finally:
            self._since = before

    def end(self) -> None:
        """On rank 0: tell the other ranks to stop following."""
        if not self._broken:
            self.send("end")

    def _spread(self, body: bytes) -> bytes:
        with self.together():
            summed = mx.distributed.all_sum(mx.array(np.frombuffer(body, np.uint8)), group=self.group)
            mx.eval(summed)
            came = np.array(summed).tobytes()
        self.exchange([crc32(came)])
        return came
