"""The engine as a chat sees it: ask, and the events of the answer are handed to the one who asked.

Events are collected on a timer, not one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from app.engine import protocol
from app.engine.client import EngineClient, describe_death
from app.engine.events import PairInfo, TurnEnded
from app.engine.protocol import Answered, Explained, Indexing, Loaded, LoadFailed, Tuning, TuningEnded
from app.engine.server_client import ServerClient
from models.pairs.pair import PairSpec

EngineState = Literal["loading", "ready", "failed", "dead"]


@dataclass(frozen=True, slots=True)
class PairLoading:
    """The engine process began to open a pair."""


@dataclass(frozen=True, slots=True)
class EngineDied:
    """The engine process ended without being asked to."""

    text: str
    while_answering: bool
    """Each answer in progress has a `RequestFailed` with the same text."""


@dataclass(frozen=True, slots=True)
class RequestFailed:
    """A request ended without a result."""

    id: int
    text: str
    reason: str
    """The text without what comes next."""
    refused: bool = False
    """The request cannot be answered as it is; nothing failed."""
    died: bool = False
    """The engine process ended, of this request or another."""


PairEvent = PairLoading | Indexing | Loaded | Tuning | TuningEnded | LoadFailed | EngineDied
RequestEvent = Answered | Explained | RequestFailed

Asker = Callable[[RequestEvent], object]
"""Takes what comes of a request. It should only keep it: another request may be half made."""

PUMP_SECONDS = 1 / 12
"""Text that appears this often looks steady; each frame takes about two milliseconds of a core."""


class EngineLink:
    """Owns the engine process: starts it, restarts a dead one when it is asked something."""

    def __init__(self, client: EngineClient | ServerClient, pair: PairSpec, at_once: int = 1) -> None:
        """`at_once`: answers that are written side by side; others wait in the engine."""
        self.client = client
        self.pair = pair
        self._at_once = at_once
        self.info: PairInfo | None = None
        self.state: EngineState = "loading"
        self.indexing = ""
        """Which documents are indexed before the pair is there; empty while there are none."""
        self.tuning: Tuning | None = None
        """How far the measuring of what drafting costs is; None while there is none."""
        self.listener: Callable[[PairEvent], object] = lambda event: None
        self._askers: dict[int, Asker] = {}
        self._last_id = 0
        self._no_start = ""
        """Why the process could not be started again, until the next `pump`."""

    def start(self) -> None:
        self.client.start()
        self.client.send(protocol.Load(self.pair, self._at_once))

    def use(self, pair: PairSpec) -> None:
        """Another pair, with the documents of the one before."""
        self.pair = replace(pair, documents=self.pair.documents)
        if not self.wake():
            self._load()

    def send(self, asker: Asker, request: protocol.Answer | protocol.Explain) -> int:
        """Send a request under a new id, which is returned; what comes of it goes to the asker with that."""
        self.wake()
        self._last_id += 1
        self._askers[self._last_id] = asker
        self.client.send(replace(request, id=self._last_id))
        return self._last_id

    def wake(self) -> bool:
        """Start a dead engine again; True if it was dead."""
        if self.client.alive:
            return False
        reason = ""
        try:
            self.client.start()
        except OSError as error:
            reason = f"The engine process cannot be started: {error.strerror}."
        # What the dead process left behind is dealt with before anything is asked of the next one.
        self.pump()
        self._load()
        self._no_start = reason  # the next `pump` knows who asked
        return True

    def cancel(self, turn_id: int) -> None:
        self.client.send(protocol.Cancel(turn_id))

    def skip_tuning(self) -> None:
        """End the measuring of what drafting costs, so that answers begin."""
        self.client.send(protocol.SkipTuning())

    def pump(self) -> None:
        for event in self.client.poll():
            self._pass_on(event)
        if self._no_start:
            reason, self._no_start = self._no_start, ""
            self._die(reason)

    def close(self) -> None:
        self.client.close()

    def _load(self) -> None:
        self.info, self.state, self.indexing = None, "loading", ""
        self.listener(PairLoading())
        self.client.send(protocol.Load(self.pair, self._at_once))

    def _pass_on(self, event: protocol.EngineEvent) -> None:
        match event:
            case Answered() | Explained():
                done = isinstance(event, Explained) or isinstance(event.event, TurnEnded)
                asker = self._askers.pop(event.id, None) if done else self._askers.get(event.id)
                if asker is not None:
                    asker(event)
            case protocol.AnswerFailed(turn_id, text, refused):
                self._fail(turn_id, text, refused=refused)
            case protocol.Died():
                self._die(describe_death(event))
            case _:
                self.indexing = event.text if isinstance(event, Indexing) else ""
                if isinstance(event, Loaded):
                    self.info, self.state = event.info, "ready"
                elif isinstance(event, LoadFailed):
                    self.state = "failed"
                else:
                    self.tuning = event if isinstance(event, Tuning) else None
                self.listener(event)

    def _die(self, reason: str) -> None:
        self.info, self.state, self.tuning = None, "dead", None
        text = f"{reason} The next prompt starts it again."
        answering = list(self._askers)
        for turn_id in answering:
            self._fail(turn_id, text, reason)
        self.listener(EngineDied(text, while_answering=bool(answering)))

    def _fail(self, turn_id: int, text: str, reason: str = "", *, refused: bool = False) -> None:
        asker = self._askers.pop(turn_id, None)
        if asker is not None:
            asker(RequestFailed(turn_id, text, reason or text, refused, died=bool(reason)))
