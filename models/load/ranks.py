"""Running on several Macs with `mlx.launch`: the ranks connect, check that they match, split the target."""

import os
import sys
import weakref
from collections.abc import Mapping, Sequence
from contextlib import suppress
from hashlib import sha256
from importlib.metadata import version
from math import gcd
from pathlib import Path
from typing import Any, NoReturn, Protocol, runtime_checkable

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.drafters import Drafter
from mlx_spec.errors import RankLost
from mlx_spec.ranks import SILENCE, Ranks
from mlx_spec.shared import SharedEngine
from mlx_spec.target.model import COMPILES
from models.errors import BadChoice, MachineTrouble
from models.pairs.drafter_kinds import text_settings
from models.pairs.own_drafters import own_drafters
from models.pairs.pair import PairSpec

SAMPLES, SAMPLE_BYTES = 256, 4096
"""Pieces per file that are compared, evenly spread: enough to tell models of the same shape apart."""
HEADS = ("num_attention_heads", "num_key_value_heads")


@runtime_checkable
class Splits(Protocol):
    """A model that mlx-lm can split between ranks."""

    def shard(self, group: mx.distributed.Group | None = None) -> None: ...


def join() -> Ranks | None:
    """The group of ranks of this process; None if it runs alone.

    Waits for ever for a rank that hangs: MLX holds Python's lock meanwhile, so no thread can end it.

    Raises:
        MachineTrouble: they do not connect.
    """
    if "MLX_RANK" not in os.environ:
        return None
    try:
        return Ranks(mx.distributed.init(strict=True))
    except RuntimeError as error:
        raise MachineTrouble(
            f"The other Macs cannot be reached ({error}). Start all with mlx.launch, two or more; "
            "docs/serving.md has the commands."
        ) from error


def check_same(ranks: Ranks, spec: PairSpec, paths: Sequence[Path]) -> None:
    """Raise MachineTrouble if a rank has other versions, models or flags than rank 0."""
    if spec.documents:
        raise BadChoice("--documents works on one Mac only: each Mac has its own files. Leave it out.")
    versions = [version(package) for package in ("mlx-spec", "mlx", "mlx-lm")]
    folders = [*paths[1:], *(Path(source.repo) for source in spec.drafters)]
    folders += own_drafters(spec.target)[0].values()
    _compare(
        ranks,
        {
            "other versions of mlx-spec, mlx or mlx-lm": versions,
            "another kind of device, or another MLX_DISABLE_COMPILE": (mx.default_device().type, COMPILES),
            "other files of the target": _content(paths[0]),
            "other files of what drafts": [_content(folder) for folder in folders],
            "other flags": (spec.draft_head, spec.drafter_bits),
        },
    )


def check_drafters(ranks: Ranks, drafters: Sequence[Drafter]) -> None:
    """Raise MachineTrouble if a rank has loaded other drafters than rank 0."""
    _compare(ranks, {"other drafters in memory": [drafter.name for drafter in drafters]})


def look_after(engine: SharedEngine) -> None:
    """End this process when another rank is silent, and the others when rank 0's engine or process ends."""
    engine.ranks.watch(_give_up)
    if engine.ranks.leads:
        weakref.finalize(engine, _end, engine.ranks)


def split(model: nn.Module, config: Mapping[str, Any], ranks: Ranks, path: Path) -> None:
    """Keep only this rank's part of each layer, before the weights are read.

    Raises:
        BadChoice: mlx-lm cannot split the model, or not among this many ranks.
    """
    if not isinstance(model, Splits):
        raise BadChoice(
            f"mlx-lm cannot split a model of type {config['model_type']} among several Macs ({path}). "
            "It can for llama, qwen2, qwen3, gpt_oss, deepseek_v3 and others."
        )
    text = text_settings(config)
    parts = gcd(*(text.get(name, 0) for name in HEADS))
    if parts % ranks.size:
        raise BadChoice(
            f"The attention heads of the model in {path} are in {parts} groups, which {ranks.size} Macs "
            f"cannot share evenly. Start as many as divide {parts}, or choose another model."
        )
    model.shard(ranks.group)


def _compare(ranks: Ranks, facts: Mapping[str, object]) -> None:
    sums = [int.from_bytes(sha256(repr(fact).encode()).digest()[:4]) for fact in facts.values()]
    came = ranks.exchange(sums)
    for rank, words in enumerate(came):
        for what, own, other in zip(facts, came[0], words, strict=False):
            if own != other:
                raise MachineTrouble(f"Rank {rank} has {what} than rank 0. All Macs need the same.")


def _content(path: Path) -> list[tuple[str, str]]:
    """Names and checksums of a model's files; of large files only pieces are read."""
    files = [path] if path.is_file() else sorted(path.glob("*.json")) + sorted(path.glob("*.safetensors"))
    return [("" if path.is_file() else file.name, _sum(file)) for file in files]


def _sum(file: Path) -> str:
    size = file.stat().st_size
    digest = sha256(str(size).encode())
    with file.open("rb") as stream:
        for place in range(0, size, max(SAMPLE_BYTES, size // SAMPLES)):
            stream.seek(place)
            digest.update(stream.read(SAMPLE_BYTES))
    return digest.hexdigest()


def _end(ranks: Ranks) -> None:
    with suppress(RankLost, RuntimeError):  # the ranks have ended already, or MLX is shut down
        ranks.end()


def _give_up() -> NoReturn:
    """End the process: the main thread waits in MLX, where no exception reaches it."""
    message = f"Another Mac did not answer for {SILENCE:.0f} s: its program hangs, or the network failed."
    print(f"\n{message} Start all of them again.", file=sys.stderr, flush=True)
    os._exit(3)
