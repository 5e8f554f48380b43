"""A saved head loads unchanged, and errors in a folder are reported."""

from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.utils import load_model

from app.cli import main
from mlx_spec.training.start import eagle_head
from models.load.eagle import load_eagle
from models.training.kinds import eagle_shape
from tests.models.drafter_folders import edit_config, edit_tensors, make_eagle
from tests.models.tiny_models import make_model, make_pair

TAPS = "eagle_aux_hidden_state_layer_ids"
KNOWN = range(0, 384, 3)


@pytest.fixture
def target(home: Path) -> Path:
    return make_pair(home)[0]


@pytest.fixture
def head(target: Path, home: Path) -> Path:
    return make_eagle(home / "head", target, KNOWN)


def refusal(target: Path, head: Path, capfd: pytest.CaptureFixture[str], code: int) -> str:
    """The command line's message."""
    given = ["--target", str(target), "--drafter", str(head), "--prompt", "x", "--max-tokens", "4"]
    assert main(["generate", *given]) == code
    said = capfd.readouterr().err
    assert "Traceback" not in said and str(head) in said
    return said


@pytest.mark.parametrize(
    ("change", "code", "message"),
    [
        (lambda t: t.pop("midlayer.mlp.up_proj.weight"), 3, "Missing 1 parameters"),
        (lambda t: t.pop("d2t"), 3, "names no 'd2t'"),
        (lambda t: t.update({"more.weight": mx.zeros(3)}), 3, "1 parameters not in model"),
        (lambda t: t.update({"fc.weight": mx.zeros((4, 4))}), 3, "fc.weight"),
        (lambda t: t.update(d2t=t["d2t"] + 300), 3, "token 384, and the target has 384"),
        (lambda t: t.update(d2t=t["d2t"] - 1), 3, "token -1"),
        (lambda t: t.update(d2t=t["d2t"].astype(mx.float32) + 0.5), 3, "d2t"),
        (lambda t: t.update(d2t=t["d2t"][:9]), 3, "lm_head"),
    ],
)  # fmt: skip
def test_tensors_that_are_not_a_heads_are_named(
    target: Path, head: Path, capfd: pytest.CaptureFixture[str], change: Any, code: int, message: str
) -> None:
    assert message in refusal(target, edit_tensors(head, change), capfd, code)


@pytest.mark.parametrize(
    ("changes", "code", "message"),
    [
        ({"hidden_size": None}, 3, "its hidden_size is None. Train or fetch it again"),
        ({"hidden_size": "wide"}, 3, "its hidden_size is 'wide'"),
        ({"num_attention_heads": 0}, 3, "its num_attention_heads is 0"),
        ({"eagle_config": 3}, 3, "is damaged: "),
        ({"eagle_config": {TAPS: ["low"]}}, 3, "layer_ids are ['low']"),
        ({"eagle_config": {TAPS: [0]}}, 3, "fc.weight"),
        ({"eagle_config": {TAPS: [0, 2]}}, 2, "reads layer 2, and the target has 2 layers"),
        ({"quantization": 8}, 2, "quantization that is no object: 8"),
        ({"quantization": {"bits": 8}}, 2, "group_size"),
        ({"rope_scaling": {"rope_type": "odd"}}, 3, "odd"),
    ],
)
def test_a_config_that_is_odd_is_refused_with_its_value(
    target: Path, head: Path, capfd: pytest.CaptureFixture[str], changes: Any, code: int, message: str
) -> None:
    assert message in refusal(target, edit_config(head, **changes), capfd, code)


def test_a_head_of_another_target_is_refused_with_both_sizes(
    head: Path, home: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    other = make_pair(home / "other")[0]
    make_model(other, hidden_size=64)
    said = refusal(other, head, capfd, 2)
    assert "384 tokens and 32 numbers" in said and "has 384 and 64" in said


def test_a_quantized_head_guesses_nearly_as_before(home: Path) -> None:
    target = make_pair(home)[0]
    make_model(target, hidden_size=64, intermediate_size=128)
    model, config = load_model(target)
    few = eagle_head(model, eagle_shape(config, model, KNOWN))
    states = mx.random.normal((1, 5, 64), key=mx.random.key(1))
    wanted = few.guesses(states)
    head: Any = load_eagle(make_eagle(home / "small", target, KNOWN, bits=8), model, config).cached.model
    assert head.shape.tokens == tuple(KNOWN)
    assert mx.abs(head.guesses(states) - wanted).max() < 0.05 * mx.abs(wanted).max()
