"""The engine as a chat sees it: each request is sent with a callback that takes its events.

Events are collected on a timer, not one by one.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from app.engine import protocol
from app.engine.client import describe_death
from app.engine.events import PairInfo, TurnEnded
from app.engine.protocol import (
    Answered,
    AnswerFailed,
    Explained,
    Indexing,
    Loaded,
    LoadFailed,
    Tuning,
    TuningEnded,
)
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from app.engine.client import EngineClient
    from app.engine.server_client import ServerClient

EngineState = Literal["loading", "ready", "failed", "dead"]


@dataclass(frozen=True, slots=True)
class PairLoading:
    """The engine process began to open a pair."""


@dataclass(frozen=True, slots=True)
class EngineDied:
    """The engine process ended unexpectedly."""

    text: str
    while_answering: bool
    """If so, each answer in progress gets an `AnswerFailed` with the same reason."""


PairEvent = PairLoading | Indexing | Loaded | Tuning | TuningEnded | LoadFailed | EngineDied
RequestEvent = Answered | Explained | AnswerFailed

Asker = Callable[[RequestEvent], object]
"""Takes a request's events. It should only store them: another request may be half sent."""

STARTS_AGAIN = "The next prompt starts it again."

PUMP_SECONDS = 1 / 12
"""Text that appears this often looks steady; each frame takes about two milliseconds of a core."""


class EngineLink:
    """Owns the engine process: starts it, and restarts a dead one at the next request."""

    def __init__(self, client: "EngineClient | ServerClient", pair: PairSpec, at_once: int = 1) -> None:
        """`at_once`: answers generated side by side; others wait in the engine."""
        self.client = client
        self.pair = pair
        self._at_once = at_once
        self.info: PairInfo | None = None
        self.state: EngineState = "loading"
        self.indexing = ""
        """Which documents are being indexed while the pair loads; else empty."""
        self.tuning: Tuning | None = None
        """Progress of measuring the drafting costs; None while nothing is measured."""
        self.listener: Callable[[PairEvent], object] = lambda event: None
        self._askers: dict[int, Asker] = {}
        self._last_id = 0
        self._loads = 0
        """Pairs that the engine was asked to load and has not answered for; the last one counts."""
        self._no_start = ""
        """Why a restart failed, until the next `pump` reports it."""

    def start(self) -> None:
        self.client.start()
        self._load()

    def use(self, pair: PairSpec) -> None:
        """Open another pair, with the documents of the current one."""
        self.pair = replace(pair, documents=self.pair.documents)
        if not self.wake():
            self._load()

    def send(self, asker: Asker, request: protocol.Answer | protocol.Explain) -> int:
        """Send a request and return its new id; `asker` takes its events, which have that id."""
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
        # The dead process's last events are handled before the new one gets a request.
        self.pump()
        self._load()
        self._no_start = reason  # for the next `pump`: the asker is not registered yet
        return True

    def cancel(self, turn_id: int) -> None:
        self.client.send(protocol.Cancel(turn_id))

    def skip_tuning(self) -> None:
        """Stop measuring the drafting costs, if that is going on, so that answers begin."""
        if self.tuning is not None:
            self.client.send(protocol.SkipTuning())
            self.tuning = None  # from here on, though the round being timed may take seconds

    def pump(self) -> None:
        for event in self.client.poll():
            self._pass_on(event)
        if self._no_start:
            reason, self._no_start = self._no_start, ""
            self._die(reason)

    def close(self) -> None:
        self.client.close()

    def _load(self) -> None:
        self.info, self.state, self.indexing, self.tuning = None, "loading", "", None
        self.listener(PairLoading())
        self._loads += 1
        self.client.send(protocol.Load(self.pair, self._at_once))

    def _pass_on(self, event: protocol.EngineEvent) -> None:
        match event:
            case Answered() | Explained() | AnswerFailed():
                done = not isinstance(event, Answered) or isinstance(event.event, TurnEnded)
                asker = self._askers.pop(event.id, None) if done else self._askers.get(event.id)
                if asker is not None:
                    asker(event)
            case protocol.Died():
                self._die(describe_death(event))
            case Loaded() | LoadFailed() if self._loads > 1:
                self._loads -= 1  # another pair was chosen meanwhile
            case Tuning() | TuningEnded() if self._loads:
                pass  # of the pair before
            case _:
                self.indexing = event.text if isinstance(event, Indexing) else ""
                if isinstance(event, Loaded | LoadFailed):
                    self._loads = 0
                if isinstance(event, Loaded):
                    self.info, self.state = event.info, "ready"
                elif isinstance(event, LoadFailed):
                    self.state = "failed"
                else:
                    self.tuning = event if isinstance(event, Tuning) else None
                self.listener(event)

    def _die(self, reason: str) -> None:
        self.info, self.state, self.tuning, self._loads = None, "dead", None, 0
        answering = list(self._askers)
        for turn_id in answering:
            self._pass_on(AnswerFailed(turn_id, reason, died=True))
        self.listener(EngineDied(f"{reason} {STARTS_AGAIN}", while_answering=bool(answering)))
