"""Every model type of the installed mlx-lm, built tiny with random weights, and how our engine runs it.

    python -m tests.mlx_spec.model_types --write docs/model-types.md

Greedy text must be mlx-lm's own, token for token, without a draft, with a draft model of the same type
and with lookup, read at once and (where the type allows it) with a round in flight, over two turns.
Configurations are made from model_types.json; each type runs in a process of its own.
"""

import argparse
import dataclasses
import importlib
import importlib.metadata
import json
import os
import subprocess
import sys
import typing
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import mlx.nn as nn
import mlx_lm.models

from mlx_spec import Engine, Options, UnsupportedModel
from mlx_spec.target.cache import make_entries
from mlx_spec.types import DrafterName
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.proof_drafters import BINARY, Branching
from tests.mlx_spec.tiny_models import engine_of, prompt, reference, settled, tokens

TURNS, TOKENS = [prompt(13, 2), prompt(5, 3)], 30
WAYS: list[tuple[DrafterName, int]] = [("none", 0), ("model", 1), ("model", 4), ("lookup", 4)]
PAIRS_THAT_WORK = " Use another model: `mlx-spec pairs` lists some that work."

CONFIGURATIONS = json.loads(Path(__file__).with_suffix(".json").read_text())
BY_FIELD: dict[str, Any] = {name: value for value, names in CONFIGURATIONS["fields"] for name in names}
"""A tiny value for each field that sets a size; fields not named keep their default."""
BY_TYPE: dict[str, dict[str, Any]] = CONFIGURATIONS["types"]
"""What a type needs beside that. A `text_config` names whose arguments it holds: those of another
type, or of a class of its own module; the rest of the table entry goes in there too."""


def model_types() -> list[str]:
    """Modules of mlx_lm.models that can be the `model_type` of a checkpoint."""
    files = Path(mlx_lm.models.__path__[0]).glob("*.py")
    return sorted(file.stem for file in files if "class ModelArgs" in file.read_text())


def arguments(cls: type, own: dict[str, Any]) -> dict[str, Any]:
    """Values for the fields of a dataclass of arguments: `own` first, then by name, then by type."""
    hints = typing.get_type_hints(cls)
    values = {}
    for field in dataclasses.fields(cls):
        needed = field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
        if field.name in own:
            values[field.name] = own[field.name]
        elif field.name in BY_FIELD and (needed or field.default is not None):
            values[field.name] = BY_FIELD[field.name]
        elif needed and hints[field.name] is bool:
            values[field.name] = False
    return values


def configuration(name: str) -> dict[str, Any]:
    """A tiny config.json of this model type."""
    module = importlib.import_module(f"mlx_lm.models.{name}")
    own = BY_TYPE.get(name, {})
    text = {}
    match own.get("text_config"):
        case str(inner):
            text = {"text_config": configuration(inner)}
        case where, inner:
            cls = getattr(importlib.import_module(f"mlx_lm.models.{where}"), inner)
            text = {"text_config": {**arguments(cls, own), "model_type": name}}
    return {**arguments(module.ModelArgs, own), **text, "model_type": name}


def build(name: str, seed: int = 0) -> nn.Module:
    """A tiny model of this type with random weights."""
    module = importlib.import_module(f"mlx_lm.models.{name}")
    model = settled(module.Model(module.ModelArgs.from_dict(configuration(name))), seed)
    for part in model.modules():
        if isinstance(part, nn.Embedding):
            # Else, where embeddings are scaled up, each token would only repeat itself.
            part.weight = part.weight * 0.1
    return model


OWN_TEXT = {
    "plamo3": "mlx-lm's windows hold one row more in prefill than in decoding: compared with our plain text"
}
"""Types whose plain text need not be mlx-lm's, and why."""


@dataclasses.dataclass(frozen=True)
class Result:
    """The result for one type."""

    name: str
    outcome: str
    """works; by structure: its caches are of kinds that work, but its code does not run on this machine;
    refused; not built: there is no tiny configuration of it here; differs: a fault of ours."""
    how: str = ""
    why: str = ""
    trees: str = ""


def check(name: str, ways: Sequence[tuple[DrafterName, int]] = WAYS) -> Result:
    """Build a pair of this type and compare the texts it gives with each drafter and length."""
    try:
        target, draft = build(name), nearly(lambda seed: build(name, seed), noise=0.05)
    except (Exception, SystemExit) as error:
        return Result(name, "not built", why=_first_line(error))
    try:
        engine = engine_of(target, draft, context_limit=2048)
    except UnsupportedModel as error:
        return Result(name, "refused", why=str(error).removesuffix(PAIRS_THAT_WORK))
    except RuntimeError as error:
        make_entries(target)
        return Result(name, "by structure", why=_first_line(error))
    past, lazy = engine.target._history, engine.target.lazy
    how = "rows" if past is None else type(past.now).__name__.lower()
    how += "" if lazy else ", read at once"
    wanted = ours(engine, "none", 0) if name in OWN_TEXT else chat(lambda ids: reference(target, ids, TOKENS))
    for in_flight in (0, 1) if lazy else (0,):
        engine.drafts_in_flight = bool(in_flight)
        for drafter, length in ways:
            if ours(engine, drafter, length) != wanted:
                return Result(name, "differs", how, f"{drafter}, length {length}, {in_flight} in flight")
    dull = len({token for answer in wanted for token in answer}) < 8
    why = "its random weights repeat a few tokens" if dull else ""
    return Result(name, "works", how, OWN_TEXT.get(name, why), trees_of(target, draft, wanted))


def trees_of(target: nn.Module, draft: nn.Module, wanted: list[list[int]]) -> str:
    """Whether a draft model's trees give the same text; `refused` where passes cannot be trees."""
    drafter = Branching(draft, BINARY)
    engine = Engine(target, [drafter], context_limit=2048)
    if not (engine.target.trees and drafter.cached.trees):
        return "refused"
    try:
        return "yes" if ours(engine, drafter.name, drafter.depth) == wanted else "differ"
    except Exception as error:
        return _first_line(error)


def chat(answer: Callable[[list[int]], list[int]]) -> list[list[int]]:
    """The answer to every turn."""
    ids: list[int] = []
    answers = []
    for turn in TURNS:
        answers.append(answer(ids + turn))
        ids = ids + turn + answers[-1]
    return answers


def ours(engine: Engine, drafter: DrafterName, length: int) -> list[list[int]]:
    """Our chat, each turn going on from the last."""
    engine.forget()
    options = Options(max_tokens=TOKENS, drafter=drafter, draft_length=length or None)
    return chat(lambda ids: tokens(engine.generate(ids, options)))


def _first_line(error: BaseException) -> str:
    if isinstance(error, SystemExit):
        return "its module needs a package that is not installed"
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0] if lines else ''}".replace("|", "/")


def check_apart(name: str) -> Result:
    """`check` in a process of its own, as a type may crash it."""
    command = [sys.executable, "-m", "tests.mlx_spec.model_types", "--check", name]
    environment = {**os.environ, "MLX_DISABLE_COMPILE": "1", "MLX_SPEC_BLAS": "reference"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    if done.returncode:
        return Result(name, "not built", why=f"its process ended with {done.returncode}")
    return Result(**json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", metavar="TYPE", help="check one type and print the result as JSON")
    parser.add_argument("--write", metavar="FILE", type=Path, help="write the table")
    given = parser.parse_args()
    if given.check:
        print(json.dumps(dataclasses.asdict(check(given.check))))
        return
    with ThreadPoolExecutor(2) as pool:
        results = []
        for result in pool.map(check_apart, model_types()):
            print(*dataclasses.astuple(result), sep="\t", flush=True)
            results.append(result)
    if given.write:
        given.write.write_text(page(results))


PAGE = """# Model types

Support for every model type of mlx-lm {version}, as target and as draft model. Written by
`python -m tests.mlx_spec.model_types --write docs/model-types.md`: each type is built tiny with random
weights, and its greedy text must equal mlx-lm's, token for token: without a draft, with a draft model of
the same type at lengths 1 and 4, and with lookup; read at once and with a round in flight; over two turns.
Float32 on the CPU.

{counts}

How a type rolls back after a rejected draft:

- **rows**: attention; keys and values by position, a rollback is a smaller offset.
- **recomputed**: recurrent layers whose recurrence runs again over its recorded inputs.
- **replayed**: recurrent layers; the model reads the accepted tokens again
  ([decision 0009](decisions/0009-recurrent-layers-go-back.md)).
- **read at once**: the host must know the start of a pass, so no drafted round is in flight.

Trees: **yes**, a draft may be a tree (checked with a binary tree of depth 3); **refused**, chains only.

| type | outcome | rollback | trees | remark |
|---|---|---|---|---|
{rows}
"""


def page(results: list[Result]) -> str:
    outcomes = {result.outcome for result in results}
    counts = [f"{sum(r.outcome == outcome for r in results)} {outcome}" for outcome in sorted(outcomes)]
    rows = [f"| {r.name} | {r.outcome} | {r.how} | {r.trees} | {r.why} |" for r in results]
    return PAGE.format(
        version=importlib.metadata.version("mlx-lm"),
        counts=f"{len(results)} types: {', '.join(reversed(counts))}.",
        rows="\n".join(rows),
    )


if __name__ == "__main__":
    main()
