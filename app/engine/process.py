"""The engine in a process of its own: `python -m app.engine.process READ_FD WRITE_FD`.

All MLX work happens on the main thread; a second thread only reads requests, so that a cancel is seen
while an answer runs, a third sends events, and texts are tokenized on threads of their own. The process ends
when the other end of the pipe is gone.
"""

import gc
import os
import queue
import sys
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import replace
from functools import partial
from multiprocessing.connection import Connection
from typing import TYPE_CHECKING

from app.engine import protocol
from app.engine.events import PromptCounted, TextAdded, TurnEvent, merged
from app.engine.loading import load
from app.engine.protocol import Answer, Answered, AnswerFailed, EngineEvent, Explain, Load, LoadFailed
from app.shell import runtime
from app.shell.errors import AppError, BadField, BadInput, where
from mlx_spec.errors import BadOption, ContextFull, NoDrafter, RankLost, SpecError
from models.errors import MachineTrouble, ModelsError, is_lack_of_memory
from models.pairs.pair import PairSpec

if TYPE_CHECKING:
    from app.engine.drafting_state import TunedSession

ORPHAN_SECONDS = 10.0
"""How long work in progress may go on after the other end of the pipe is gone."""

JOIN_SECONDS = 1 / 20
"""After text was sent, more text is collected for this long."""

OpenPair = Callable[[PairSpec, Callable[[str], object]], "TunedSession"]


class _Inbox:
    """Requests as they arrive; cancels are seen at once, the rest in order."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests
        self._waiting: deque[Load | Answer | Explain | None] = deque()
        self._arrived = threading.Semaphore(0)
        self._cancelled: set[int] = set()
        self._closed = False
        self.skipping = False
        self.finished = threading.Event()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def next(self) -> Load | Answer | Explain | None:
        self._arrived.acquire()
        return self._waiting.popleft()

    def next_answer(self, free: bool) -> Answer | None:
        """The next request, if it is here and asks for an answer; if no place is free, for a count only."""
        request = self._waiting[0] if self._waiting else None
        if not (isinstance(request, Answer) and (free or request.counts)):
            return None
        self.next()
        return request

    def is_cancelled(self, answer_id: int) -> bool:
        return self._closed or answer_id in self._cancelled

    def is_left(self) -> bool:
        """Whether the pair in use is not wanted any more."""
        return self._closed or any(isinstance(request, Load) for request in list(self._waiting))

    def _read(self) -> None:
        while not self._closed:
            try:
                request = self._requests.recv()
            except Exception:  # the other end is gone, or what it sent cannot be read
                request, self._closed = None, True
            match request:
                case protocol.Cancel(answer_id):
                    self._cancelled.add(answer_id)
                case protocol.SkipTuning():
                    self.skipping = True
                case _:
                    self._waiting.append(request)
                    self._arrived.release()
        if not self.finished.wait(ORPHAN_SECONDS):
            os._exit(1)


class Outbox:
    """Sends events in order from its own thread, so that decoding does not wait for the pipe.

    Text events that come faster than they are read are joined; other events are sent at once. If the reader
    is gone, events are dropped; the pipe of requests is closed then too, which ends the work.
    """

    def __init__(self, events: Connection) -> None:
        self._events = events
        self._waiting: queue.SimpleQueue[EngineEvent | None] = queue.SimpleQueue()
        self._no_text_waits = threading.Event()
        self._thread = threading.Thread(target=self._send, name="events", daemon=True)
        self._thread.start()

    def send(self, event: EngineEvent | None) -> None:
        """Send an event; None ends the thread."""
        self._waiting.put(event)
        if not _is_text(event):
            self._no_text_waits.set()

    def close(self) -> None:
        self.send(None)
        self._thread.join()

    def _send(self) -> None:
        with suppress(OSError):
            while True:
                events = [self._waiting.get()]
                self._no_text_waits.clear()
                while not self._waiting.empty():
                    events.append(self._waiting.get())
                for event in _joined(event for event in events if event is not None):
                    self._events.send(event)
                if events[-1] is None:
                    return
                if _is_text(events[-1]):
                    self._no_text_waits.wait(JOIN_SECONDS)


def _is_text(event: EngineEvent | None) -> bool:
    return isinstance(event, Answered) and isinstance(event.event, TextAdded)


def _joined(events: Iterable[EngineEvent]) -> list[EngineEvent]:
    """The events; neighbouring texts of one answer, or of its thought, become one with the later one's
    statistics."""
    out: list[EngineEvent] = []
    for event in events:
        match [*out[-1:], event]:
            case [Answered(a, TextAdded() as first), Answered(b, TextAdded() as text)] if (
                a == b
                and len({piece.thought for piece in (*first.pieces, *text.pieces)}) < 2
                # Tokens after a thought that show no text (a call's, a mark's) are none of the thought.
                and (text.pieces or not any(piece.thought for piece in first.pieces))
            ):
                pieces, played = merged((*first.pieces, *text.pieces)), (*first.played, *text.played)
                scored = (*first.scored, *text.scored)
                out[-1] = Answered(b, replace(text, pieces=pieces, played=played, scored=scored))
            case _:
                out.append(event)
    return out


def serve(requests: Connection, events: Connection, open_pair: OpenPair) -> None:
    """Handle requests on the calling thread until the other end of the pipe is gone."""
    inbox, outbox = _Inbox(requests), Outbox(events)
    session: TunedSession | None = None
    at_once = 1
    reason = "No pair was chosen. /pairs has some to choose from."
    try:
        while (request := inbox.next()) is not None:
            try:
                match request:
                    case Load(pair, at_once):
                        session = None
                        if inbox.is_left():
                            raise BadInput("Another pair was chosen before this one was opened.")
                        gc.collect()  # pairs hold themselves in circles: free the old one before the next
                        session = open_pair(pair, lambda text: outbox.send(protocol.Indexing(text)))
                        outbox.send(protocol.Loaded(session.info))
                        if not session.is_tuned:
                            _tune(session, outbox, inbox)
                    case _ if session is None:
                        outbox.send(AnswerFailed(request.id, reason))
                    case Explain(id, messages, options, plain, drafted):
                        found = session.difference(messages, options, plain, drafted)
                        outbox.send(protocol.Explained(id, found))
                    case Answer():
                        _answer(request, session, at_once, outbox, inbox)
            except Exception as error:  # a model's files can cause any error: report it and go on
                if isinstance(request, Load):
                    reason = _message(error, f"{type(error).__name__}: {error}".removesuffix("."))
                    outbox.send(LoadFailed(reason, _refuses(error)))
                else:
                    outbox.send(_failed(request.id, error))
    finally:
        outbox.close()
        inbox.finished.set()


def _tune(session: "TunedSession", outbox: Outbox, inbox: _Inbox) -> None:
    """Measure what drafting costs. A failure is only logged: the costs are learned from answers too."""
    inbox.skipping = False
    try:
        session.tune(
            lambda done, total: outbox.send(protocol.Tuning(done, total)),
            lambda: inbox.skipping,
            inbox.is_left,
        )
    except Exception as error:
        traceback.print_exception(error)
    outbox.send(protocol.TuningEnded(skipped=inbox.skipping))


def _answer(
    request: Answer | None, session: "TunedSession", at_once: int, outbox: Outbox, inbox: _Inbox
) -> None:
    """Write this answer and those requested meanwhile, `at_once` side by side, counts of tokens beside."""
    answers: dict[int, Iterator[TurnEvent | None]] = {}
    counts, in_passes = set[int](), set[int]()
    try:
        while answers or request:
            while request:
                answers[request.id] = session.answer(request, partial(inbox.is_cancelled, request.id))
                if request.counts:
                    counts.add(request.id)
                request = inbox.next_answer(len(answers.keys() - counts) < at_once)
            for number, events in list(answers.items()):
                try:
                    event = next(events)
                except StopIteration:
                    del answers[number]
                except Exception as error:
                    alone = number not in in_passes or isinstance(error, BadInput | SpecError)
                    if isinstance(error, RankLost) or not alone:
                        raise
                    del answers[number]
                    outbox.send(_failed(number, error))
                else:
                    if isinstance(event, PromptCounted):  # passes begin after it
                        in_passes.add(number)
                    if event is not None:
                        outbox.send(Answered(number, event))
            request = inbox.next_answer(len(answers.keys() - counts) < at_once)
    except Exception as error:  # a pass failed, and all answers were in it
        for number in answers:
            outbox.send(_failed(number, error))
        if isinstance(error, RankLost):  # no further answer is possible
            outbox.send(LoadFailed(str(error)))
    finally:
        session.save()


def _failed(number: int, error: Exception) -> AnswerFailed:
    too_long = isinstance(error, ContextFull)
    return AnswerFailed(number, _message(error, where(error)), _refuses(error), too_long, field=_field(error))


def _field(error: Exception) -> str:
    """The refused field of the request, where it is known."""
    match error:
        case BadField():
            return error.field
        case NoDrafter():
            return "drafter"
        case ContextFull() | BadOption():
            return "prompt"
    return ""


def _refuses(error: Exception) -> bool:
    """Whether what was asked for is at fault, not the machine."""
    faults, others = BadInput | ModelsError | SpecError, MachineTrouble | RankLost
    return isinstance(error, faults) and not isinstance(error, others)


def _message(error: Exception, what: str) -> str:
    """The message for the user. An error without a sentence of ours is `what`, also in the log (stderr): the
    text of an answer's error may quote a prompt, even another answer's.
    """
    if isinstance(error, AppError | SpecError | ModelsError):
        return str(error)
    traceback.print_exception(RuntimeError(what).with_traceback(error.__traceback__))
    if is_lack_of_memory(error):
        return "Out of memory. Choose a smaller pair or close other programs."
    return f"The engine failed: {what}. engine.log has the details (in the chat: /log)."


def open_pair(pair: PairSpec, show: Callable[[str], object]) -> "TunedSession":
    loaded = load(pair, show)
    from app.engine.drafting_state import TunedSession

    return TunedSession(loaded)


def main() -> None:
    runtime.prepare()
    requests = Connection(int(sys.argv[1]), writable=False)
    events = Connection(int(sys.argv[2]), readable=False)
    try:
        serve(requests, events, open_pair)
    finally:
        runtime.release_streams()


if __name__ == "__main__":
    main()
