"""A comparison while it runs: asks the engine for one run after the other and collects the results."""

import asyncio
from collections.abc import AsyncIterator, Sequence

from app.chat.engine_link import EngineLink, RequestEvent
from app.compare.collector import Differing, RunCollector
from app.compare.plan import Plan, Run
from app.compare.record import Record, shared_options
from app.engine.events import Piece, TextAdded, TurnEnded, TurnEvent
from app.engine.protocol import Answer, Answered, AnswerFailed, Explain, Explained


class ComparisonInProgress:
    """Runs a plan, then has the differences explained. Finished runs are kept whatever happens later."""

    def __init__(self, link: EngineLink, plan: Plan) -> None:
        self.plan = plan
        self.run: Run | None = None
        """The run in progress; None before the first and after the last."""
        self.broken_off = ""
        self.collector = RunCollector(plan)
        self._link = link
        self._request: int | None = None
        """The last request's id."""
        self._failed = False
        self._info = link.info

    async def events(self) -> AsyncIterator[Run | TurnEvent | Differing]:
        """Each run as it begins, then its events; last, answers that differ as the engine is asked why."""
        places: Sequence[int] = range(len(self.plan.settings))
        while places:
            for run in self.plan.runs_of(places):
                self.run = run
                yield run
                async for event in self._answer(run):
                    yield event
                if self.broken_off:
                    break
            places = self._longer()
        self.run = None
        for differing in () if self._failed else self.collector.differing():
            yield differing
            prompt, setting = differing.place
            options = self.plan.settings[setting].options(self.plan.options)
            messages = self.plan.questions[prompt].messages
            async for event in self._ask(Explain(0, messages, options, differing.plain, differing.drafted)):
                if isinstance(event, Explained):
                    self.collector.explain(differing, event.difference)

    def stop(self) -> None:
        """Break off and cancel the run in progress; its end still arrives."""
        if self.run is not None and self._request is not None:
            self.break_off("stopped by you")
            self._link.cancel(self._request)

    def break_off(self, reason: str) -> None:
        """Start no more runs; the first reason is kept."""
        self.broken_off = self.broken_off or reason

    def record(self) -> Record | None:
        """The runs so far; None if they are too few to judge."""
        info = self._info
        facts = {
            "pair": self._link.pair.as_json(),
            "device": info.device if info else "unknown",
            "options": shared_options(self.plan.options),
            "versions": dict(info.versions) if info else {},
            "blas": info.blas if info else "",
            "compiled": info.compiled if info else None,
        }
        return self.collector.record(facts, self.broken_off)

    async def _answer(self, run: Run) -> AsyncIterator[TurnEvent]:
        """A run's events; its end only if it was not stopped."""
        pieces: list[Piece] = []
        question, options = self.plan.questions[run.prompt], self.plan.options_of(run)
        asked = Answer(0, question.messages, options, question.documents, fresh=True)
        async for event in self._ask(asked):
            match event:
                case AnswerFailed(message=reason):
                    self.break_off(reason)
                case Answered(_, TurnEnded() as ended):
                    # Kept, because an engine that dies later has no info.
                    self._info = self._link.info or self._info
                    if ended.finish_reason == "cancelled":
                        self.break_off("ended by the server")
                    if not self.broken_off:
                        self.collector.add(run, ended.token_ids, ended.stats, pieces)
                        yield ended
                case Answered(_, turn_event):
                    pieces += turn_event.pieces if isinstance(turn_event, TextAdded) else ()
                    yield turn_event

    async def _ask(self, request: Answer | Explain) -> AsyncIterator[RequestEvent]:
        """Send a request; its events up to the last."""
        events: asyncio.Queue[RequestEvent] = asyncio.Queue()
        self._request = self._link.send(events.put_nowait, request)
        event = None
        while event is None or (isinstance(event, Answered) and not isinstance(event.event, TurnEnded)):
            event = await events.get()
            if isinstance(event, AnswerFailed):
                self._failed = True
                self._link.wake()
            yield event

    def _longer(self) -> Sequence[int]:
        """If the longest draft lengths were fastest, plan longer ones; the places of their settings."""
        record = None if self.broken_off else self.record()
        longer = self.plan.longer(record.speed) if record is not None else None
        if longer is None:
            return ()
        first = len(self.plan.settings)
        self.plan = self.collector.plan = longer
        return range(first, len(longer.settings))
