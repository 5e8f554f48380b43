"""`make bench-peers`: this engine compared with mlx-lm's loops and transformers, on one pair, in one run.

Every side has its own process. Sides alternate prompt by prompt, in a changing order, and only one runs at a
time. A speed is tokens over wall time, prefill included; a ratio is taken within a repeat, and its median and
range over the repeats are printed. The best fixed draft lengths are found in a search over all lengths, then
measured again with the rest. The last line of stdout is one JSON document;
`python -m benchmarks.peers.readme FILE` makes tables of it.
"""

import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, replace
from datetime import UTC, datetime
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

import typer

from app.shell import exit_codes
from app.shell.errors import AppError
from app.shell.output import Progress, ReaderGone, data, talk
from benchmarks.peers import other_draft, report
from benchmarks.peers.answering import Answer
from benchmarks.peers.long_chat import LongChat, long_chat
from benchmarks.peers.measure import Encoded, Measurement
from benchmarks.peers.mlx_lm_side import MlxLmSide
from benchmarks.peers.ours import OurSide
from benchmarks.peers.process import SideProcess
from benchmarks.peers.prompts import groups, read_prompts
from benchmarks.peers.ratios import best, ratios, speeds, worst
from benchmarks.peers.records import Records
from benchmarks.peers.sides import COMPARED, OTHER_DRAFT, SEARCHED_MLX_LM, SEARCHED_OURS, Side
from benchmarks.peers.transformers_side import TransformersSide

TEMPERATURES = (0.0, 0.8)
PEERS_EXTRA = "`.venv/bin/python -m pip install -e '.[peers]'` (PyTorch) adds it"


def main(
    repeats: Annotated[int, typer.Option(min=1, help="Runs of every prompt on every side.")] = 5,
    search_repeats: Annotated[int, typer.Option(min=1, help="Runs of every fixed length.")] = 2,
    max_tokens: Annotated[int, typer.Option(min=2, help="Longest answer.")] = 96,
    turns: Annotated[int, typer.Option(min=0, help="Turns of the long chat; 0 leaves it out.")] = 20,
    quick: Annotated[bool, typer.Option("--quick", help="A short test run.")] = False,
    records: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Save the measurements there, and resume from them."),
    ] = None,
    target: Annotated[
        str | None, typer.Option(help="Repository or folder; default: the built-in pair's.")
    ] = None,
    draft: Annotated[str | None, typer.Option(help="Repository or folder.")] = None,
) -> None:
    """Measure every side and print each ratio with its range, the losing ones too."""
    per_category = None
    if quick:
        repeats, search_repeats, max_tokens, turns, per_category = 2, 1, 32, min(turns, 3), 1
    settings = {
        "repeats": repeats, "search_repeats": search_repeats, "max_tokens": max_tokens, "turns": turns,
        "quick": quick, "target": target, "draft": draft,
    }  # fmt: skip
    try:
        kept = Records(settings, records)
        with ExitStack() as stack:
            bench = _Bench(stack, settings, kept, per_category)
            found = bench.run()
    except AppError as error:
        talk(str(error))
        sys.exit(exit_codes.MACHINE_FAILED)
    except KeyboardInterrupt:
        talk("Interrupted." + (f" --records {records} goes on from here." if records else ""))
        sys.exit(exit_codes.INTERRUPTED)
    try:
        report.show(found)
        data(report.json_line(found))
    except ReaderGone:
        sys.exit(exit_codes.INTERRUPTED)


class _Bench:
    """One run of the command."""

    def __init__(
        self, stack: ExitStack, settings: dict[str, Any], records: Records, per_category: int | None
    ) -> None:
        self.stack = stack
        self.settings = settings
        self.records = records
        self.left_out: dict[str, str] = {}
        """Sides that were not measured, with the reason."""
        self.processes: dict[str, SideProcess] = {}
        self.line = Progress()
        self.start = time.perf_counter()
        self._open()
        self.prompts = self._encoded(per_category)
        self.categories = list(dict.fromkeys(prompt.category for prompt in self.prompts))
        self.measurement = Measurement(
            self.processes, self.prompts, settings["max_tokens"], records, self._progress
        )
        self.compared = [side for side in COMPARED if side.process in self.processes]

    def run(self) -> dict[str, Any]:
        """Measure, and return the JSON document."""
        searched = (*SEARCHED_OURS, *SEARCHED_MLX_LM)
        self.measurement.warm_up([*searched, *self.compared])
        self._plan(len(searched))
        self.measurement.run("search", lambda *_: searched, TEMPERATURES, self.settings["search_repeats"])
        chosen = self._chosen()
        self.measurement.run(
            "compare", lambda category, t: self._sides(chosen, category, t), TEMPERATURES,
            self.settings["repeats"],
        )  # fmt: skip
        compared = self.records.of("compare")
        by_group = groups(self.categories)
        rows = ratios(compared, by_group)
        lowest = worst(rows, self.categories)
        same, differences = self._same_texts()
        chat = self._long_chat()
        self.line.clear()
        return {
            "rows": [{**asdict(row), "holds": row.holds} for row in rows],
            "worst": asdict(lowest) if lowest else None,
            "best_lengths": [
                {"side": name, "category": category, "temperature": t, "way": side.way, "length": side.length}
                for (name, category, t), side in chosen.items()
            ],
            "long_chat": asdict(chat) if chat else None,
            "same_texts": same,
            "differences": differences,
            "speeds": [asdict(speed) for speed in speeds(compared, by_group)],
            "searched": [asdict(speed) for speed in speeds(self.records.of("search"), by_group)],
            "left_out": self.left_out,
            **self._facts(),
        }

    def _open(self) -> None:
        """Start the processes one after the other, so that each calibrates on an idle machine."""
        target, draft = self.settings["target"], self.settings["draft"]
        self._add("ours fixed", OurSide, target, draft, False)
        self._add("mlx-lm plain", MlxLmSide, target, draft)
        self._add("mlx-lm speculative", MlxLmSide, target, draft)
        self._add_transformers()
        self._add("ours auto", OurSide, target, draft, True)
        self._add_other_draft()

    def _add(self, name: str, opener: Any, *arguments: Any) -> None:
        self.line.show(f"Starting {name} ...")
        self.processes[name] = self.stack.enter_context(SideProcess(name, opener, *arguments))

    def _add_transformers(self) -> None:
        if find_spec("torch") is None:
            self.left_out["transformers"] = f"PyTorch is not installed; {PEERS_EXTRA}."
            return
        folder = self.stack.enter_context(tempfile.TemporaryDirectory())
        written = self.processes["ours fixed"].call("write_for_transformers", folder)
        try:
            self._add("transformers", TransformersSide, written["target"], written["draft"])
        except AppError as error:
            self.left_out["transformers"] = str(error)

    def _add_other_draft(self) -> None:
        if self.settings["target"] or self.settings["draft"]:
            self.left_out[OTHER_DRAFT] = "there is one for the built-in pair only"
            return
        try:
            self.line.clear()
            self._add(OTHER_DRAFT, OurSide, None, str(other_draft.folder()), True)
        except AppError as error:
            self.left_out[OTHER_DRAFT] = str(error)

    def _encoded(self, per_category: int | None) -> list[Encoded]:
        ours = self.processes["ours fixed"]
        return [
            Encoded(prompt.id, prompt.category, *ours.call("encode", prompt.messages))
            for prompt in read_prompts(per_category=per_category)
        ]

    def _sides(self, chosen: Mapping[tuple[str, str, float], Side], category: str, t: float) -> list[Side]:
        alone = [side for side in self.compared if side.categories is None or category in side.categories]
        return alone + [
            replace(side, name=name) for (name, of, at), side in chosen.items() if (of, at) == (category, t)
        ]

    def _chosen(self) -> dict[tuple[str, str, float], Side]:
        """The sides with the fastest fixed lengths, by (name in the comparison, category, temperature)."""
        searched = self.records.of("search")
        found: dict[tuple[str, str, float], Side] = {}
        for name, sides, alone in (
            ("ours best", SEARCHED_OURS, True),
            ("mlx-lm best", SEARCHED_MLX_LM, True),
            ("mlx-lm best of all", SEARCHED_MLX_LM, False),
        ):
            for category in self.categories:
                for t in TEMPERATURES:
                    if side := best(searched, sides, [category] if alone else self.categories, t):
                        found[name, category, t] = side
        return found

    def _same_texts(self) -> tuple[dict[str, list[int]], list[dict[str, Any]]]:
        """Compare greedy answers with our plain decoding's: by side [same, all], and every difference."""
        greedy = [r for r in self.records.of("compare") if r.temperature == 0 and r.repeat == 0]
        own = {r.prompt: r.answer.tokens for r in greedy if r.side == "ours plain"}
        prompts = {prompt.id: prompt for prompt in self.prompts}
        same: dict[str, list[int]] = {}
        differences: list[dict[str, Any]] = []
        for record in greedy:
            prompt, plain = prompts[record.prompt], own[record.prompt]
            parted = self._difference(prompt, plain, record.answer) if plain != record.answer.tokens else None
            count = same.setdefault(record.side, [0, 0])
            count[0] += parted is None
            count[1] += 1
            if parted is not None:
                differences.append({"side": record.side, "prompt": record.prompt, **parted})
        return same, differences

    def _difference(self, prompt: Encoded, plain: Sequence[int], other: Answer) -> dict[str, Any] | None:
        ask = self.measurement.asked(COMPARED[1], prompt, 0.0, 0)
        return self.processes["ours fixed"].call("difference", ask, tuple(plain), other.tokens)

    def _long_chat(self) -> LongChat | None:
        if not self.settings["turns"]:
            return None
        target, draft = self.settings["target"], self.settings["draft"]
        for name in ("chat", "fresh"):
            self._add(name, OurSide, target, draft, True)
        return long_chat(
            self.processes["chat"], self.processes["fresh"], self.settings["turns"], self.settings["repeats"],
            self._progress,
        )  # fmt: skip

    def _plan(self, searched: int) -> None:
        """Count and print the answers to come, for progress."""
        each = len(TEMPERATURES) * len(self.prompts)
        self.answers = each * (
            searched * self.settings["search_repeats"] + (len(self.compared) + 3) * self.settings["repeats"]
        )
        self.begun, self.start = len(self.records), time.perf_counter()
        talk(f"{len(self.prompts)} prompts, {self.answers} answers of at most "
             f"{self.settings['max_tokens']} tokens.")  # fmt: skip

    def _progress(self, text: str) -> None:
        done = len(self.records)
        seconds = time.perf_counter() - self.start
        new = done - self.begun
        left = (self.answers - done) * seconds / new if new else None
        line = f"{text}: {done} of {self.answers} answers" + (
            f", about {left / 60:.0f} min left" if left is not None and left > 0 else ""
        )
        if self.line.seen:
            self.line.show(line)
        else:
            talk(line)

    def _facts(self) -> dict[str, Any]:
        from app.shell.machine import circumstances
        from app.shell.runtime import prepare

        prepare()
        here = circumstances()
        torch = {"torch": version("torch")} if find_spec("torch") else {}
        return {
            "command": "make bench-peers" + (" ARGS=--quick" if self.settings["quick"] else ""),
            **self.settings,
            "pair": self.settings["target"] or "builtin",
            "prompts": len(self.prompts),
            **here,
            "versions": {**here["versions"], **torch},
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
        }


if __name__ == "__main__":
    typer.run(main)
