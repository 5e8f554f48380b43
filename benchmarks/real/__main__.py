"""`make bench-real`: a real model on Spec-Bench's development prompts, every drafter against plain decoding.

Prints docs/benchmarks/real.md: ratios by kind of prompt, tokens per pass, whether all texts are the same, and
the wanted ratios with those missed. With --keep an interrupted run resumes.
"""

import os
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from app.compare.prompts import BenchPrompt, read_prompts
from app.shell import exit_codes
from app.shell.errors import AppError, BadInput
from app.shell.output import Progress, ReaderGone, data, talk
from benchmarks.peers.measure import Encoded, Measurement
from benchmarks.peers.mlx_lm_side import MlxLmSide
from benchmarks.peers.ours import OurSide
from benchmarks.peers.process import SideProcess
from benchmarks.peers.records import Record, Records
from benchmarks.peers.sides import Side
from benchmarks.real.figures import PLAIN, Figures
from benchmarks.real.page import page

PROMPTS = Path("../shared/data/spec_bench_dev.jsonl")
WARM_UP = [{"role": "user", "content": "Say hello."}]
WARM_UP_TOKENS = 16
OUR_PLAIN = Side(PLAIN, PLAIN, "none", 0)


def main(
    prompts: Annotated[
        Path, typer.Option(metavar="FILE", help='Lines of {"id", "category", "prompt"}.')
    ] = PROMPTS,
    pair: Annotated[str, typer.Option(help="A pair that was pulled.")] = "smollm2-135m",
    keep: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Save the measurements there, and resume from them.")
    ] = None,
    kinds: Annotated[str, typer.Option(help="Kinds of prompts, by commas; all if left out.")] = "",
    limit: Annotated[int | None, typer.Option(min=1, help="Most prompts of each kind.")] = None,
    temperatures: Annotated[str, typer.Option(help="By commas.")] = "0,0.8",
    tokens: Annotated[int, typer.Option(min=2, help="Longest answer.")] = 128,
    drafters: Annotated[
        str, typer.Option(help="Drafters to measure alone, by commas, or joined by +; all if left out.")
    ] = "",
    depth: Annotated[
        int, typer.Option(min=0, help="Draft length for tokens per pass; 0: do not count them.")
    ] = 5,
) -> None:
    """Measure, and print the page."""
    line = Progress()
    try:
        chosen = choose(read_prompts(prompts), _words(kinds), limit)
        with ExitStack() as stack:
            run = _Run(
                stack, line, pair, _words(drafters), depth, keep, {"tokens": tokens, "file": prompts.name}
            )
            found = run.page(chosen, _numbers(temperatures))
    except AppError as error:
        line.clear()
        talk(str(error))
        sys.exit(exit_codes.WRONG_USE if isinstance(error, BadInput) else exit_codes.MACHINE_FAILED)
    except KeyboardInterrupt:
        talk("Interrupted." + (f" --keep {keep} goes on from here." if keep else ""))
        sys.exit(exit_codes.INTERRUPTED)
    try:
        data(found)
    except ReaderGone:
        sys.exit(exit_codes.INTERRUPTED)


def choose(prompts: Sequence[BenchPrompt], kinds: Sequence[str], limit: int | None) -> list[BenchPrompt]:
    """The first `limit` of each kind, alternating between kinds: an interrupted run has some of each."""
    by_kind = {kind: [p for p in prompts if p.category == kind] for kind in kinds or _kinds(prompts)}
    if missing := [kind for kind, found in by_kind.items() if not found]:
        raise BadInput(
            f"There are no prompts of the kind {missing[0]}. Use some of: {', '.join(_kinds(prompts))}."
        )
    turns = range(limit or max(map(len, by_kind.values())))
    return [found[turn] for turn in turns for found in by_kind.values() if turn < len(found)]


class _Run:
    """One run of the command."""

    def __init__(
        self,
        stack: ExitStack,
        line: Progress,
        pair: str,
        drafters: list[str],
        depth: int,
        keep: Path | None,
        settings: dict[str, Any],
    ) -> None:
        self.line, self.pair, self.depth, self.tokens = line, pair, depth, settings["tokens"]
        line.show("Loading the model ...")
        self.plain = stack.enter_context(SideProcess(PLAIN, OurSide, None, None, False, pair))
        known: list[str] = self.plain.call("drafter_names")
        self.drafters = drafters or known
        named = [name for joined in self.drafters for name in joined.split("+")]
        if unknown := [name for name in named if name not in known]:
            raise BadInput(f"{pair} has no drafter {unknown[0]}. Use some of: {', '.join(known)}.")
        settings |= {"pair": pair, "drafters": self.drafters, **_circumstances()}
        self.settings = settings
        self.records = Records(settings, keep and keep / "records.jsonl")
        self.left_out = (
            []
            if "model" in known
            else [
                "mlx-lm's speculative loop. It needs a draft model that has the target's vocabulary; "
                f"{pair} has none."
            ]
        )

    def page(self, prompts: Sequence[BenchPrompt], temperatures: Sequence[float]) -> str:
        """Measure what is not recorded yet, and return the page."""
        encoded = [self._encoded(prompt) for prompt in prompts]
        self._phase("timed", self._timed(), encoded, temperatures)
        self._phase("counted", self._counted(), encoded, [t for t in temperatures if t == 0])
        wanted = {(prompt.id, t) for prompt in encoded for t in temperatures}
        timed, counted = (
            [r for r in self.records.of(phase) if (r.prompt, r.temperature) in wanted]
            for phase in ("timed", "counted")
        )
        figures = Figures(timed, counted)
        differences = {
            f"{r.side}, {r.prompt}, temperature {r.temperature:g}": self._difference(r, encoded, figures)
            for r in figures.different()
        }
        self.line.clear()
        return page(figures, self.pair, self._facts(figures, len(encoded)), self.left_out, differences)

    def _timed(self) -> list[Side]:
        sides = [OUR_PLAIN, *(Side(name, name, name) for name in [*self.drafters, "auto"])]
        sides.append(Side("mlx-lm plain", "mlx-lm", "plain"))
        return sides if self.left_out else [*sides, Side("mlx-lm 2", "mlx-lm", "speculative", 2)]

    def _counted(self) -> list[Side]:
        return [Side(f"{n} {self.depth}", n, n, self.depth) for n in self.drafters if self.depth]

    def _phase(
        self, phase: str, sides: Sequence[Side], prompts: Sequence[Encoded], temperatures: Sequence[float]
    ) -> None:
        """Measure in fresh processes: drafters that remember earlier answers do not help another side."""
        todo = [(p, t) for t in temperatures for p in prompts if self._missing(phase, sides, p, t)]
        if not todo:
            return
        with ExitStack() as stack:
            processes = self._processes(stack, sides, tune=phase == "timed")
            warm = Encoded("warm-up", "", *self.plain.call("encode", WARM_UP))
            warming = Measurement(processes, [warm], WARM_UP_TOKENS, Records({}))
            warming.run(phase, lambda *_: sides, temperatures, 1)
            start = time.perf_counter()
            for number, (prompt, t) in enumerate(todo):
                self._progress(f"{phase}, temperature {t:g}", number, len(todo), start)
                measurement = Measurement(processes, [prompt], self.tokens, self.records)
                measurement.run(phase, lambda *_: sides, [t], 1)

    def _missing(self, phase: str, sides: Sequence[Side], prompt: Encoded, t: float) -> bool:
        return any((phase, 0, t, prompt.id, side.name) not in self.records for side in sides)

    def _processes(self, stack: ExitStack, sides: Sequence[Side], tune: bool) -> dict[str, SideProcess]:
        """The sides' processes, started one after the other, so that each calibrates on an idle machine."""
        found = {PLAIN: self.plain}
        for name in dict.fromkeys(side.process for side in sides if side.process != PLAIN):
            self.line.show(f"Starting {name} ...")
            opener, arguments = (
                (MlxLmSide, (None, None)) if name == "mlx-lm" else (OurSide, (None, None, tune))
            )
            found[name] = stack.enter_context(SideProcess(name, opener, *arguments, self.pair))
        return found

    def _encoded(self, prompt: BenchPrompt) -> Encoded:
        messages = [{"role": "user", "content": prompt.prompt}]
        return Encoded(prompt.id, prompt.category, *self.plain.call("encode", messages))

    def _difference(self, record: Record, prompts: Sequence[Encoded], figures: Figures) -> str:
        prompt = next(p for p in prompts if p.id == record.prompt)
        plain = next(
            r.answer.tokens for r in figures.timed
            if (r.side, r.prompt, r.temperature) == (PLAIN, record.prompt, record.temperature)
        )  # fmt: skip
        measurement = Measurement({}, [], self.tokens, self.records)
        ask = measurement.asked(OUR_PLAIN, prompt, record.temperature, 0)
        parted = self.plain.call("difference", ask, plain, record.answer.tokens)
        kind = "a near-tie" if parted["near_tie"] else "NOT explained by rounding"
        return f"parts at token {parted['position']}, {kind}"

    def _progress(self, text: str, done: int, count: int, start: float) -> None:
        left = (count - done) * (time.perf_counter() - start) / done / 60 if done else None
        self.line.show(
            f"{text}: {done} of {count} prompts" + (f", about {left:.0f} min left" if left else "")
        )

    def _facts(self, figures: Figures, prompts: int) -> str:
        versions = self.settings["versions"]
        speed = figures.paces.speed(PLAIN, "all", figures.kinds, figures.temperatures[0])
        plain = f"{speed.decode_tokens_per_second:.1f} tokens per second" if speed else "not measured"
        return (
            f"{self.pair}, {prompts} prompts of {self.settings['file']}, at most {self.tokens} tokens; "
            f"{self.settings['device']}, {self.settings['blas']}, "
            f"{'compiled' if self.settings['compiled'] else 'not compiled'}, mlx {versions['mlx']}, "
            f"mlx-lm {versions['mlx-lm']}, {datetime.now(UTC):%Y-%m-%d}. Plain decoding: {plain}. "
            f"Load average when this was written: {os.getloadavg()[1]:.1f} on {os.cpu_count()} cores."
        )


def _circumstances() -> dict[str, Any]:
    from app.shell.machine import circumstances
    from app.shell.runtime import prepare

    prepare()
    return circumstances()


def _kinds(prompts: Sequence[BenchPrompt]) -> list[str]:
    return list(dict.fromkeys(prompt.category for prompt in prompts))


def _numbers(text: str) -> list[float]:
    try:
        return [float(word) for word in _words(text)]
    except ValueError:
        raise BadInput(f"--temperatures is {text}. Give numbers, with commas between them.") from None


def _words(text: str) -> list[str]:
    return [word.strip() for word in text.split(",") if word.strip()]


if __name__ == "__main__":
    typer.run(main)
