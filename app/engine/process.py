"""The engine in a process of its own: `python -m app.engine.process READ_FD WRITE_FD`.

All MLX work happens on the main thread; a second thread only reads requests, so that a cancel is seen
while an answer runs, and a third sends events. The process ends by itself when the other end of the pipe is
gone.
"""

import os
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from multiprocessing.connection import Connection
from typing import Protocol

from app.engine.chat_prompt import Message
from app.engine.difference import Difference
from app.engine.events import PairInfo, PrefillProgressed, TurnEvent
from app.engine.outbox import Outbox
from app.engine.protocol import (
    Answer,
    Answered,
    AnswerFailed,
    Cancel,
    EngineEvent,
    Explain,
    Explained,
    Load,
    Loaded,
    LoadFailed,
    Quit,
    Request,
    SkipTuning,
    Tuning,
    TuningEnded,
)
from app.shell.errors import AppError
from mlx_spec.errors import SpecError
from mlx_spec.types import Options
from models.errors import ModelsError, is_lack_of_memory
from models.pairs.pair import PairSpec

ORPHAN_SECONDS = 10.0
"""How long work in progress may go on once nobody is there to read it, or the process was told to end."""


class Answering(Protocol):
    """What the process serves: `app.engine.drafting_state.TunedSession`, or a script of one."""

    is_tuned: bool
    """What drafting costs here is known."""

    @property
    def info(self) -> PairInfo: ...

    def tune(self, progress: Callable[[int, int], None], skipped: Callable[[], bool]) -> None: ...

    def keep(self) -> None: ...

    def answer(
        self,
        prompt: Sequence[Message],
        options: Options,
        *,
        stop_texts: Sequence[str],
        documents: Sequence[str],
        begun: str,
        cancelled: Callable[[], bool],
        progress: Callable[[PrefillProgressed], None],
    ) -> Iterator[TurnEvent]: ...

    def difference(
        self, prompt: Sequence[Message], options: Options, plain: Sequence[int], drafted: Sequence[int]
    ) -> Difference | None: ...


OpenPair = Callable[[PairSpec], Answering]


class _Inbox:
    """Requests as they arrive; cancels are seen at once, the rest in order."""

    def __init__(self, requests: Connection) -> None:
        self._requests = requests
        self._waiting: queue.SimpleQueue[Load | Answer | Explain | Quit] = queue.SimpleQueue()
        self._cancelled_through = -1
        self._skipping = False
        self._quitting = False
        self._finished = threading.Event()
        threading.Thread(target=self._read, name="requests", daemon=True).start()

    def next(self) -> Load | Answer | Explain | Quit:
        return self._waiting.get()

    def is_cancelled(self, answer_id: int) -> bool:
        return self._quitting or answer_id <= self._cancelled_through

    def begin_tuning(self) -> None:
        self._skipping = False

    def is_skipped(self) -> bool:
        return self._quitting or self._skipping

    def finish(self) -> None:
        self._finished.set()

    def _read(self) -> None:
        while not self._quitting:
            try:
                request: Request = self._requests.recv()
            except (EOFError, OSError):
                request = Quit()
            if isinstance(request, Cancel):
                self._cancelled_through = max(self._cancelled_through, request.id)
            elif isinstance(request, SkipTuning):
                self._skipping = True
            else:
                self._quitting = isinstance(request, Quit)
                self._waiting.put(request)
        # Whoever asked for the end may not live to insist on it.
        if not self._finished.wait(ORPHAN_SECONDS):
            os._exit(1)


def serve(requests: Connection, events: Connection, open_pair: OpenPair) -> None:
    """Handle requests on the calling thread until told to quit or left alone."""
    inbox, outbox = _Inbox(requests), Outbox(events)
    session: Answering | None = None
    reason = "No pair was chosen. /pairs has some to choose from."
    try:
        while True:
            request = inbox.next()
            if isinstance(request, Quit):
                return
            if isinstance(request, Load):
                # The old pair leaves memory before the next one enters it.
                session = None
                session, reason = _load(request, outbox, open_pair)
                if session is not None and not session.is_tuned:
                    _tune(session, outbox, inbox)
            elif session is None:
                outbox.send(AnswerFailed(request.id, reason))
            elif isinstance(request, Explain):
                _explain(request, outbox, session)
            else:
                _answer(request, outbox, session, inbox)
    except BrokenPipeError:
        return
    finally:
        outbox.close()
        inbox.finish()


def _load(request: Load, outbox: Outbox, open_pair: OpenPair) -> tuple[Answering | None, str]:
    try:
        session = open_pair(request.pair)
    except Exception as error:  # whatever a model's files can cause is told, not died of
        reason = _in_words(error)
        outbox.send(LoadFailed(reason))
        return None, reason
    outbox.send(Loaded(session.info))
    return session, ""


def _tune(session: Answering, outbox: Outbox, inbox: _Inbox) -> None:
    """Measure what drafting costs. A failure costs only the measuring: answers teach it too."""
    inbox.begin_tuning()
    try:
        session.tune(lambda done, total: outbox.send(Tuning(done, total)), inbox.is_skipped)
    except BrokenPipeError:
        raise
    except Exception as error:
        traceback.print_exception(error)
    outbox.send(TuningEnded(skipped=inbox.is_skipped()))


def _answer(request: Answer, outbox: Outbox, session: Answering, inbox: _Inbox) -> None:
    failure: EngineEvent | None = None
    try:
        for event in session.answer(
            request.messages,
            request.options,
            stop_texts=request.stop_texts,
            documents=request.documents,
            begun=request.begun,
            cancelled=lambda: inbox.is_cancelled(request.id),
            progress=lambda event: outbox.send(Answered(request.id, event)),
        ):
            outbox.send(Answered(request.id, event))
    except BrokenPipeError:
        raise
    except Exception as error:
        failure = AnswerFailed(request.id, _in_words(error))
    session.keep()
    if failure is not None:
        outbox.send(failure)


def _explain(request: Explain, outbox: Outbox, session: Answering) -> None:
    answers = request.plain, request.drafted
    try:
        result = Explained(request.id, session.difference(request.messages, request.options, *answers))
    except Exception as error:
        result = AnswerFailed(request.id, _in_words(error))
    outbox.send(result)


def _in_words(error: Exception) -> str:
    """What the user reads. The traceback goes to the log, which is this process's stderr."""
    traceback.print_exception(error)
    if isinstance(error, AppError | SpecError | ModelsError):
        return str(error)
    if is_lack_of_memory(error):
        return "Out of memory. Choose a smaller pair (/pairs) or close other programs."
    return f"The engine failed: {type(error).__name__}: {error}. The log has the details (/log)."


def main() -> None:
    """Serve on the two file descriptors named on the command line."""
    from app.shell import runtime

    runtime.prepare()
    requests = Connection(int(sys.argv[1]), writable=False)
    events = Connection(int(sys.argv[2]), readable=False)

    def open_pair(pair: PairSpec) -> Answering:
        from models.hub.endpoint import check_endpoint

        check_endpoint()  # the libraries that read models do not survive a malformed one
        from app.engine.drafting_state import TunedSession
        from models.load.engine import load

        return TunedSession(load(pair))

    try:
        serve(requests, events, open_pair)
    finally:
        runtime.release_streams()


if __name__ == "__main__":
    main()
