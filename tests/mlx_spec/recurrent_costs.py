"""What going back costs in recurrent layers, three ways (docs/decisions/0009).

    python -m tests.mlx_spec.recurrent_costs

A hybrid with qwen3_5's layers and random weights, float32. Passes over four tokens of which one to
four stand, in turn. Prints the median processor time of a pass (other work on the machine changes it
little); the ways take turns.
"""

import inspect
import statistics
import time
from contextlib import AbstractContextManager, nullcontext
from importlib.metadata import version
from unittest import mock

from app.shell.runtime import blas, prepare

prepare()

import mlx.core as mx  # noqa: E402
from mlx_lm.models import qwen3_5  # noqa: E402

from mlx_spec.arrays import Length, Pass  # noqa: E402
from mlx_spec.target.model import Model  # noqa: E402
from mlx_spec.target.probe import Probe  # noqa: E402
from mlx_spec.target.recording import Core, Moved, Windows  # noqa: E402
from mlx_spec.target.recurrent import Recomputed  # noqa: E402
from tests.mlx_spec.tiny_models import prompt, settled  # noqa: E402

REPEATS, PASSES, WIDTH = 3, 24, 4
HYBRID = {
    "model_type": "qwen3_5_text", "hidden_size": 512, "intermediate_size": 1536, "num_hidden_layers": 12,
    "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64, "vocab_size": 4096,
    "linear_num_value_heads": 8, "linear_num_key_heads": 4, "linear_key_head_dim": 64,
    "linear_value_head_dim": 64, "full_attention_interval": 4,
}  # fmt: skip


def stored(core: Core, *args: object, **kwargs: object) -> tuple[mx.array, object]:
    """A core one token at a time, keeping the state after each."""
    given = inspect.signature(core.function).bind(*args, **kwargs).arguments
    slot = given.pop("state")
    if not isinstance(slot, Moved):
        return core.function(*args, **kwargs)
    given.pop("mask", None)
    outputs, states = [], [slot.end]
    for token in range(given[core.per_token[0]].shape[1]):
        one = {name: given[name][:, token : token + 1] for name in core.per_token}
        output, state = core.function(**given | one, state=states[-1])
        outputs.append(output)
        states.append(state)
    return mx.concatenate(outputs, axis=1), Windows(mx.concatenate(states))


def whole(stretch: Recomputed, _: object) -> object:
    return tuple(tuple(slot.end for slot in slots) for slots in stretch._slots)


WAYS: dict[str, tuple[AbstractContextManager[object], AbstractContextManager[object], bool]] = {
    "not at all (wrong)": (nullcontext(), mock.patch.object(Recomputed, "after", whole), True),
    "recomputed": (nullcontext(), nullcontext(), True),
    "recomputed, host knows": (nullcontext(), nullcontext(), False),
    "stored per token": (nullcontext(), mock.patch.object(Core, "__call__", stored), True),
    "replayed": (mock.patch.object(Probe, "_recordable", lambda self, states: None), nullcontext(), False),
}
"""For each way: what differs at load, what differs in passes, and whether only the device knows the place."""


def milliseconds(model: Model, width: int, lazy: bool) -> float:
    ids = prompt(400, 1, vocab=4096)
    model.forget()
    model.prefill(ids, 64)
    at, times = 64, []
    for number in range(PASSES):
        start = time.process_time()
        place = Length(mx.array([at], mx.int32), at - 1, at + 1) if lazy else Length.exact(at)
        mx.eval(model.forward(Pass(mx.array([ids[at : at + width]], mx.int32), place)).logits)
        times.append(1000 * (time.process_time() - start))
        at += 1 + number % width
    return statistics.median(times)


def main() -> None:
    model = settled(qwen3_5.Model(qwen3_5.ModelArgs("qwen3_5", dict(HYBRID))), 0)
    times: dict[tuple[str, int], list[float]] = {}
    for _ in range(REPEATS):
        for name, (at_load, in_passes, lazy) in WAYS.items():
            with at_load:
                cached = Model(model)
            with in_passes:
                for width in (1, WIDTH):
                    times.setdefault((name, width), []).append(milliseconds(cached, width, lazy))
    print(f"MLX {version('mlx')}, {mx.default_device()}, {blas()} BLAS")
    print(f"processor ms per pass, median of {REPEATS}")
    print(f"{'':26}{'1 row':>10}{f'{WIDTH} rows':>10}")
    for name in WAYS:
        one, many = (statistics.median(times[name, width]) for width in (1, WIDTH))
        print(f"{name:26}{one:10.2f}{many:10.2f}")


if __name__ == "__main__":
    main()
