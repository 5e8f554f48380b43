"""A comparison while it runs: asks the engine for one run after the other and collects the results."""

from app.chat.engine_link import Asker, EngineLink
from app.compare.collector import Differing, RunCollector
from app.compare.plan import Plan, Run
from app.compare.record import Record, shared_options
from app.engine.difference import Difference
from app.engine.events import Piece, TurnEnded
from app.engine.protocol import Answer, Explain


class ComparisonInProgress:
    """Runs a plan, then has the differences explained. Finished runs are kept whatever happens later."""

    def __init__(self, link: EngineLink, asker: Asker, plan: Plan) -> None:
        """`asker` gets the engine's events; those with `turn_id` are for this comparison."""
        self.plan = plan
        self.run: Run | None = None
        """The run in progress; None before the first and after the last."""
        self.broken_off = ""
        self.collector = RunCollector(plan)
        self.turn_id: int | None = None
        """The last request's id."""
        self.pieces: list[Piece] = []
        """Text so far of the run in progress."""
        self._link = link
        self._asker = asker
        self._waiting = plan.runs
        self._differing: Differing | None = None
        self._info = link.info

    def begin_next(self) -> Run | None:
        """Request the next run; None if none is left."""
        self.run = run = next(self._waiting, None) or self._next_length()
        if run is not None:
            self.pieces = []
            question, options = self.plan.questions[run.prompt], self.plan.options_of(run)
            asked = Answer(0, tuple(question.messages), options, tuple(question.documents))
            self.turn_id = self._link.send(self._asker, asked)
        return run

    def _next_length(self) -> Run | None:
        """If the longest draft lengths were fastest, plan longer ones and return their first run."""
        record = None if self.broken_off else self.record()
        longer = self.plan.longer(record.speed) if record is not None else None
        if longer is None:
            return None
        first = len(self.plan.settings)
        self.plan = self.collector.plan = longer
        self._waiting = longer.runs_of(range(first, len(longer.settings)))
        return next(self._waiting)

    def end_run(self, ended: TurnEnded) -> bool:
        """Record the end of a run; False if it was stopped and no run may follow."""
        # Kept, because an engine that dies later has no info.
        self._info = self._link.info or self._info
        if self.broken_off or ended.finish_reason == "cancelled":
            self.break_off("stopped by you")
            return False
        if self.run is not None:
            self.collector.add(self.run, ended.token_ids, ended.stats, self.pieces)
        return True

    def stop(self) -> None:
        """Break off and cancel the run in progress; its end still arrives."""
        if self.run is not None and self.turn_id is not None:
            self.break_off("stopped by you")
            self._link.cancel(self.turn_id)

    def break_off(self, reason: str) -> None:
        """Start no more runs; the first reason is kept."""
        self.broken_off = self.broken_off or reason

    def explain_next(self) -> bool:
        """After the last run: ask the engine why two answers differ; False if there is nothing to ask."""
        self.run = None
        self._differing = differing = next(self.collector.differing(), None)
        if differing is None:
            return False
        prompt, setting = differing.place
        options = self.plan.settings[setting].options(self.plan.options)
        messages = self.plan.questions[prompt].messages
        asked = Explain(0, tuple(messages), options, tuple(differing.plain), tuple(differing.drafted))
        self.turn_id = self._link.send(self._asker, asked)
        return True

    def explained(self, difference: Difference | None) -> None:
        if self._differing is not None:
            self.collector.explain(self._differing, difference)

    def record(self) -> Record | None:
        """The runs so far; None if they are too few to judge."""
        info = self._info
        facts = {
            "pair": self._link.pair.as_json(),
            "device": info.device if info else "unknown",
            "options": shared_options(self.plan.options),
            "versions": dict(info.versions) if info else {},
            "blas": info.blas if info else "",
        }
        return self.collector.record(facts, self.broken_off)
