"""A draft model begins near its target, and learns the token that comes next."""

from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest
from mlx_lm.models.llama import ModelArgs

from mlx_spec import Engine
from mlx_spec.target.model import Model
from mlx_spec.training import study
from mlx_spec.training.fit import Fit
from mlx_spec.training.small_model import learner, narrowed, small_model
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.tiny_models import VOCAB, prompt, text, tiny_llama


def target(seed: int = 0) -> Any:
    return tiny_llama(seed, layers=3)


def args(width: int, layers: int = 2) -> ModelArgs:
    return ModelArgs(
        "llama", width, layers, 2 * width, width // 8, 1e-5, VOCAB, num_key_value_heads=width // 16
    )


@pytest.fixture(scope="session")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A file of greedy answers with the target's outputs, without taps."""
    path = tmp_path_factory.mktemp("texts") / "texts-00000.safetensors"
    engine, whole, studies = Engine(target(), context_limit=99), Model(target()), []
    for seed in range(4):
        ids = prompt(9, seed)
        answer = text(engine, ids, max_tokens=30)
        studies.append(study.study(whole, study.Text(ids + answer, len(ids), True)))
        whole.forget()
    study.write(path, studies)
    return path


def acceptance(model: Any, file: Path, tmp_path: Path) -> list[float]:
    return Fit(learner(model, VOCAB, VOCAB, 1.0), [file], 1, tmp_path / "none").acceptance(
        list(study.read(file))
    )


def test_acceptance_is_how_often_the_next_tokens_are_the_targets(file: Path, tmp_path: Path) -> None:
    assert acceptance(target(), file, tmp_path) == [1.0] * 4
    close = nearly(target, noise=0.01)
    found, runs, drafts = acceptance(close, file, tmp_path), [0] * 4, 0
    for each in study.read(file):
        right = (close(each.tokens[None])[0].argmax(axis=-1) == each.likeliest[:, 0]).tolist()
        greedy: list[bool] = each.greedy.tolist()  # type: ignore[assignment]
        for place in range(1, len(right) - 3):
            if all(greedy[place : place + 4]):
                drafts += 1
                for k in range(4):
                    runs[k] += all(right[place : place + k + 1])
    assert found == pytest.approx([run / drafts for run in runs]) and 0 < found[1] < found[0] < 1


def test_it_learns_its_texts(file: Path, tmp_path: Path) -> None:
    fit = Fit(
        learner(small_model(target(), args(16)), VOCAB, VOCAB, 1.0),
        [file],
        8_000,
        tmp_path / "fit.safetensors",
    )
    before, losses = fit.acceptance(list(study.read(file))), []
    fit.run(lambda progress: losses.append(progress.loss))
    after = fit.acceptance(list(study.read(file)))
    assert losses[-1] < losses[0] - 0.7 and after[0] > 2 * before[0]


def test_a_model_of_the_targets_width_begins_with_its_rows_and_layers() -> None:
    whole = target()
    model: Any = small_model(whole, ModelArgs("llama", 32, 2, 64, 4, 1e-5, VOCAB, num_key_value_heads=2))
    assert (model.model.embed_tokens.weight == whole.model.embed_tokens.weight).all()
    for own, theirs in zip(model.layers, (whole.layers[0], whole.layers[2]), strict=True):
        assert (own.self_attn.q_proj.weight == theirs.self_attn.q_proj.weight).all()
        assert (own.mlp.down_proj.weight == theirs.mlp.down_proj.weight).all()


def test_narrowed_rows_keep_their_products_where_they_can() -> None:
    rows = mx.random.normal((50, 4), key=mx.random.key(1)) @ mx.random.normal((4, 32), key=mx.random.key(2))
    assert mx.allclose(narrowed(rows, 4) @ narrowed(rows, 4).T, rows @ rows.T, rtol=1e-3, atol=1e-2)
