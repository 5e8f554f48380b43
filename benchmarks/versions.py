"""`python -m benchmarks.versions OLD`: compares this checkout with another one, on the built-in pair.

OLD is a folder with another commit (`git worktree add OLD COMMIT`). Each side has its own process; they take
turns on the same prompts. Prints the old side's seconds per token over the new one's, median and range over
the repeats, and a round's work on the host: Python calls, and waits for the device.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
from pathlib import Path

SETTINGS = {
    "none": {"drafter": "none"},
    "model 3": {"drafter": "model", "draft_length": 3},
    "lookup": {"drafter": "lookup"},
    "auto": {},
}
PROMPTS = (
    "What is speculative decoding?",
    "Write a Python function that reverses a list.",
    "Repeat this sentence three times: the draft proposes, the target disposes.",
)
SIDE = """
import ctypes, json, os, sys, time
sys.path.insert(0, os.getcwd())
out = os.fdopen(os.dup(1), "w"); os.dup2(2, 1)
if sys.platform == "linux": ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
import mlx.core as mx
from mlx_spec import Options
from models import load_pair
pair = load_pair("builtin")
try:
    from mlx_spec.calibrate import calibrate
except ImportError:
    from mlx_spec.measuring import calibrate
calibrate(pair.engine)

def ids(prompt):
    said = [{"role": "user", "content": prompt}]
    return pair.tokenizer.apply_chat_template(said, add_generation_prompt=True)

def answer(prompt, tokens, options):
    rounds = list(pair.engine.generate(ids(prompt), Options(max_tokens=tokens, **options)))
    return [t for r in rounds for t in r.tokens], sum(r.seconds for r in rounds[1:]), len(rounds)

def counted(prompt, options):
    calls, waits = [0], [0]
    rounds = pair.engine.generate(ids(prompt), Options(max_tokens=100, **options))
    for _ in range(6): next(rounds)
    def count(frame, event, arg):
        if event in ("call", "c_call"):
            calls[0] += 1
            waits[0] += getattr(arg, "__name__", "") in ("tolist", "eval", "item")
    sys.setprofile(count); n = sum(1 for _, _ in zip(range(10), rounds)); sys.setprofile(None)
    return calls[0] / n, waits[0] / n

for line in sys.stdin:
    ask = json.loads(line)
    if ask["do"] == "count": said = counted(ask["prompt"], ask["options"])
    else: said = answer(ask["prompt"], ask["tokens"], ask["options"])
    print(json.dumps(said), file=out, flush=True)
"""


class Side:
    """One checkout in its own process."""

    def __init__(self, folder: Path):
        environment = os.environ | {"PYTHONPATH": str(folder)}
        self._process = subprocess.Popen(
            [sys.executable, "-c", SIDE], cwd=folder, env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip

    def ask(self, **what: object) -> list:
        assert self._process.stdin and self._process.stdout
        print(json.dumps(what), file=self._process.stdin, flush=True)
        return json.loads(self._process.stdout.readline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("old", type=Path)
    parser.add_argument("--repeats", type=int, default=9)
    parser.add_argument("--tokens", type=int, default=96)
    parser.add_argument("--temperature", type=float, default=0.0)
    given = parser.parse_args()
    old, new = Side(given.old.resolve()), Side(Path.cwd())
    print(f"{'':10}{'old / new':>22}{'same text':>12}{'calls a round':>18}{'waits':>10}")
    for name, setting in SETTINGS.items():
        options = {**setting, "temperature": given.temperature}
        ask = {"do": "time", "tokens": given.tokens, "options": options}
        ratios, same = [], True
        for repeat in range(given.repeats + 1):
            sides = (old, new) if repeat % 2 else (new, old)
            read = {side: [side.ask(prompt=prompt, **ask) for prompt in PROMPTS] for side in sides}
            same = same and [a[0] for a in read[old]] == [a[0] for a in read[new]]
            # The first repeat is a warm-up.
            ratios += [_pace(read[old]) / _pace(read[new])] if repeat else []
        counts = [side.ask(do="count", prompt=PROMPTS[0], options=options) for side in (old, new)]
        spread = f"{statistics.median(ratios):.3f} ({min(ratios):.2f} to {max(ratios):.2f})"
        calls = " -> ".join(f"{count[0]:.0f}" for count in counts)
        waits = " -> ".join(f"{count[1]:.1f}" for count in counts)
        print(f"{name:10}{spread:>22}{same!s:>12}{calls:>18}{waits:>14}", flush=True)


def _pace(answers: list[list]) -> float:
    """Seconds per token."""
    return sum(seconds for _, seconds, _ in answers) / sum(len(tokens) for tokens, _, _ in answers)


if __name__ == "__main__":
    main()
