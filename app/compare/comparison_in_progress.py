"""A comparison while it runs: asks the engine for one run after the other and collects the results."""

from collections.abc import Sequence
from typing import Any, Generic, Protocol, TypeVar

from app.compare.collector import Differing, RunCollector
from app.compare.plan import Plan, Run
from app.compare.record import Record, shared_options
from app.engine.chat_prompt import Message
from app.engine.difference import Difference
from app.engine.events import PairInfo, Piece, TurnEnded
from mlx_spec.types import Options
from models.pairs.pair import PairSpec

Asker = TypeVar("Asker", contravariant=True)


class Engine(Protocol[Asker]):
    """Answers later, to the asker: what comes carries the id that was returned."""

    pair: PairSpec
    info: PairInfo | None
    """None until the pair is in memory."""

    def ask(
        self, asker: Asker, messages: Sequence[Message], options: Options, *, documents: Sequence[str]
    ) -> int: ...

    def explain(
        self, asker: Asker, messages: Sequence[Message], options: Options,
        plain: Sequence[int], drafted: Sequence[int],
    ) -> int: ...  # fmt: skip

    def cancel(self, turn_id: int) -> None: ...


class ComparisonInProgress(Generic[Asker]):
    """Runs a plan, then has the differences explained. Finished runs are kept whatever happens later."""

    def __init__(self, engine: Engine[Asker], asker: Asker, plan: Plan) -> None:
        """`asker` gets the engine's events; those whose id `owns` knows are for this comparison."""
        self.plan = plan
        self.run: Run | None = None
        """What the engine is busy with; None before the first run and after the last."""
        self.broken_off = ""
        """Why it ended before its last run."""
        self._engine = engine
        self._asker = asker
        self._waiting = plan.runs
        self._collector = RunCollector(plan)
        self._doubts: list[Differing] = []
        self._turn_id: int | None = None
        self._pieces: list[Piece] = []
        self._info: PairInfo | None = engine.info

    @property
    def count(self) -> int:
        """Counted runs that ended."""
        return self._collector.count

    def doing(self, run: Run, stop_key: str) -> str:
        """What a run is, and which of how many."""
        judges = " and judges what ran" if run.kind == "counted" else ""
        return f"{self._collector.doing(run)}. {stop_key} stops{judges}."

    def owns(self, turn_id: int) -> bool:
        """Whether an event of the engine answers the last request."""
        return turn_id == self._turn_id

    def begin_next(self) -> Run | None:
        """Ask for the run that is due; None once all of them ran."""
        self.run = run = next(self._waiting, None)
        if run is not None:
            self._pieces = []
            question = self.plan.questions[run.prompt]
            self._turn_id = self._engine.ask(
                self._asker, question.messages, self.plan.options_of(run), documents=question.documents
            )
        return run

    def add(self, pieces: Sequence[Piece]) -> None:
        """Take text of the run that is on."""
        self._pieces += pieces

    def end_run(self, ended: TurnEnded) -> bool:
        """Take the end of a run; False if it was stopped, and no more shall follow."""
        # The pair is known now; should the engine die later, nobody could be asked.
        self._info = self._engine.info or self._info
        if self.broken_off or ended.finish_reason == "cancelled":
            self.break_off("stopped by you")
            return False
        if self.run is not None:
            self._collector.add(self.run, ended.token_ids, ended.stats, self._pieces)
        return True

    def stop(self) -> None:
        """Break off; the end of the run that is on still arrives."""
        if self.run is not None and self._turn_id is not None:
            self.break_off("stopped by you")
            self._engine.cancel(self._turn_id)

    def break_off(self, reason: str) -> None:
        """Nothing more will run; the first reason counts."""
        self.broken_off = self.broken_off or reason

    def look_for_differences(self) -> None:
        """After the last run: find the answers that are not the same."""
        self.run = None
        self._doubts = self._collector.differing()

    def explain_next(self) -> bool:
        """Ask the engine why two answers differ; False if there is nothing to ask."""
        if not self._doubts:
            return False
        doubt = self._doubts[0]
        plain = self.plan.settings[doubt.setting].options(self.plan.options)
        messages = self.plan.questions[doubt.prompt].messages
        self._turn_id = self._engine.explain(self._asker, messages, plain, doubt.plain, doubt.drafted)
        return True

    def explained(self, difference: Difference | None) -> None:
        """Take the engine's answer."""
        if self._doubts:
            self._collector.explained(self._doubts.pop(0), difference)

    def leave_unexplained(self) -> None:
        """Without an engine to ask, a difference is still reported, without its reason."""
        self._doubts.clear()

    def record(self) -> Record | None:
        """The runs so far; None if they are too few to judge."""
        return self._collector.record(self._facts(), self.broken_off)

    def _facts(self) -> dict[str, Any]:
        info = self._info
        return {
            "pair": self._engine.pair.as_json(),
            "device": info.device if info else "unknown",
            "options": shared_options(self.plan.options),
            "versions": dict(info.versions) if info else {},
            "blas": info.blas if info else "",
        }
