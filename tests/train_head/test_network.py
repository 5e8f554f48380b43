"""The torch target, writer and head compute what MLX computes."""

import json

import mlx.core as mx
import mlx.nn as nn
import numpy as np
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import llama

from mlx_spec.drafters.eagle_head import EagleHead, EagleShape
from mlx_spec.target.taps import Taps
from mlx_spec.training import unroll
from models.load.eagle import save_eagle

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[train]'")

from train_head import writer  # noqa: E402
from train_head.learn import Learner  # noqa: E402
from train_head.network import TAPS, Head, Target  # noqa: E402
from train_head.writer import ANSWERED, Prompts, Writer  # noqa: E402

CONFIG = {"model_type": "llama", "hidden_size": 64, "num_hidden_layers": 28, "intermediate_size": 96,
          "num_attention_heads": 4, "num_key_value_heads": 2, "rms_norm_eps": 1e-5, "vocab_size": 96,
          "rope_theta": 10000.0, "tie_word_embeddings": True}  # fmt: skip


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    """(MLX target, its head, both in torch)."""
    folder, pieces = tmp_path_factory.mktemp("work"), dict(max_position_embeddings=512, head_dim=16)
    mx.random.seed(0)
    target = llama.Model(args := llama.ModelArgs.from_dict(CONFIG | pieces))
    nn.quantize(target, 32, 4)
    (folder / "config.json").write_text(json.dumps(CONFIG))
    mx.save_safetensors(str(folder / "target.safetensors"), dict(tree_flatten(target.parameters())))  # type: ignore[arg-type]
    head = EagleHead(EagleShape(args, 64, TAPS, tuple(range(0, 96, 2))), target)
    (folder / "head").mkdir()
    save_eagle(folder / "head", head, {}, 8)
    ours = Target(folder, "cpu", torch.float32)
    return target, head, ours, Head(folder / "head" / "model.safetensors", ours, "cpu")


def test_states_and_guesses_are_those_of_mlx(models):
    target, head, ours, our_head = models
    ids = np.random.default_rng(0).integers(0, 96, (2, 20))
    taps = Taps(target, head.taps)
    taps.begin()
    logits, states = target(mx.array(ids)), mx.concatenate(list(taps.take().values()), -1)
    seen = torch.ones(20, 20, dtype=torch.bool).tril()[None, None]
    cos, sin = ours.rope(30, "cpu")
    found, last = ours.read(torch.tensor(ids), seen, cos[:20], sin[:20])
    assert np.allclose(found.numpy(), np.array(states), atol=1e-4)
    assert np.allclose((last @ ours.embeddings.T).numpy(), np.array(logits), atol=1e-4)
    wanted = unroll.unrolled(head, mx.array(ids), states, 3)
    for s, guess in enumerate(our_head(torch.tensor(ids), found, seen, cos, sin, 3)):
        real = 20 - 1 - s  # later rows read a token beyond the text
        assert np.allclose(guess.detach().numpy()[:, :real], np.array(wanted[s])[:, :real], atol=2e-3)


def test_rows_are_chats_one_after_the_other_that_see_nothing_of_each_other(models, monkeypatch):
    monkeypatch.setattr(writer, "ANSWERS", (3, 9))
    monkeypatch.setattr(writer, "LONGEST_QUESTION", 4)
    ours, draw = models[2], np.random.default_rng(0)
    bodies = [draw.integers(3, 96, 5) for _ in range(40)]
    starts = np.arange(0, 5 * 40 + 1, 5)
    prompts = Prompts(np.concatenate(bodies), starts, np.arange(40) % 3 == 0, np.arange(40) % 2 == 0)
    rows = Writer(ours, 3, 96, (2, 5), 1, "cpu").write(prompts, draw)
    assert rows.begins.unique().numel() > 3 and (rows.roles == ANSWERED).any()
    place = torch.arange(96)
    seen = (place <= place[:, None]) & (place >= rows.begins[..., None])
    _, last = ours.read(rows.tokens, seen[:, None], *ours.rope(96, "cpu"))
    assert torch.equal((last @ ours.embeddings.T).argmax(-1).int(), rows.best)
    greedy = (rows.roles[:, 1:] == ANSWERED) & (rows.temperatures[:, :-1] == 0)
    assert greedy.any() and torch.equal(rows.best[:, :-1][greedy], rows.tokens[:, 1:][greedy])


def test_the_head_learns_from_the_rows(models):
    ours, head, draw = models[2], models[3], np.random.default_rng(0)
    prompts = Prompts(draw.integers(3, 96, 200), np.arange(0, 201, 5), np.zeros(40), np.ones(40))
    rows = Writer(ours, 9, 64, (2, 5), 1, "cpu").write(prompts, draw)
    learner = Learner(head, rows, 7)
    every = torch.arange(learner.free)
    losses = [learner._update(every, 1.0).item() for _ in range(12)]
    assert losses[-1] < 0.9 * losses[0] and len(learner.acceptance()) == 5
