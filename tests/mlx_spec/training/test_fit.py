"""Training resumes after a stop as if there had been none, and learns its texts."""

from dataclasses import replace
from typing import Any

import pytest

from mlx_spec.training import start, study, unroll
from mlx_spec.training.fit import Fit, Learner, parted
from tests.mlx_spec.heads import head_for, shuffled, tapped, target
from tests.mlx_spec.tiny_models import VOCAB


def learner(seed: int = 5) -> Learner:
    head = head_for(target(), seed)
    return Learner(
        head, head.shape.tokens, VOCAB,
        lambda batch, steps: unroll.unrolled(head, batch.tokens, batch.states, steps),
    )  # fmt: skip


@pytest.fixture(scope="session")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("texts")
    for i in range(3):
        texts = [study.study(tapped(), study.Text(shuffled(10 * i + j, 30 + j), 0, True)) for j in range(4)]
        study.write(folder / f"texts-{i}.safetensors", texts)
    return sorted(folder.glob("texts-*.safetensors"))


class Stopped(Exception):
    pass


def stopped_after(groups: int):
    counted = iter(range(1, groups + 1))

    def report(progress):
        if next(counted) == groups:
            raise Stopped

    return report


def test_a_fit_that_was_stopped_ends_with_the_same_weights(files, tmp_path):
    whole = Fit(learner(), files, 1000, tmp_path / "whole.safetensors")
    whole.run(lambda progress: None)
    with pytest.raises(Stopped):
        Fit(learner(), files, 1000, tmp_path / "part.safetensors").run(stopped_after(2))
    resumed = Fit(learner(seed=9), files, 1000, tmp_path / "part.safetensors")
    assert 0 < resumed.progress.tokens < 1000
    before = resumed.progress.seconds
    resumed.run(lambda progress: None)
    assert resumed.progress.seconds > before > 0, "the time of both runs"
    assert resumed.progress == whole.progress
    for one, other in zip(weights(whole), weights(resumed), strict=True):
        assert (one == other).all()


def weights(fit: Fit):
    module = fit.learner.module
    return [module["fc"].weight, module["midlayer"].self_attn.q_proj.weight, module["lm_head"].weight]


def test_repeated_texts_are_learnt(files, tmp_path):
    fit = Fit(learner(), files, 3_000, tmp_path / "fit.safetensors")
    losses = []
    fit.run(lambda progress: losses.append(progress.loss))
    assert losses[-1] < losses[0] - 0.3


def test_an_end_amid_a_group_of_files_is_kept_at_once_and_training_can_go_on(files, tmp_path, monkeypatch):
    monkeypatch.setattr("mlx_spec.training.fit.ROWS", 1)  # a text is a batch
    steps, fit = [], Fit(learner(), files, 10_000, tmp_path / "fit.safetensors")

    def time_is_up(progress):
        steps.append(progress.tokens)
        fit.tokens = progress.tokens

    fit.run(time_is_up)
    assert len(steps) == 1
    resumed = Fit(learner(seed=9), files, 2 * steps[0], tmp_path / "fit.safetensors")
    assert resumed.progress.tokens == steps[0]
    resumed.run(lambda progress: None)
    assert resumed.progress.tokens >= 2 * steps[0]


def test_the_first_greedy_text_of_a_file_is_held_out_of_what_it_teaches(files, tmp_path):
    texts = [
        replace(text, greedy=text.tokens >= (0 if i else VOCAB))
        for i, text in enumerate(study.read(files[0]))
    ]
    study.write(tmp_path / "texts.safetensors", texts)
    learnt, held = (
        [text.tokens.tolist() for text in each] for each in parted(tmp_path / "texts.safetensors")
    )
    assert learnt == [texts[i].tokens.tolist() for i in (0, 2, 3)] and held == [texts[1].tokens.tolist()]
    study.write(tmp_path / "texts.safetensors", texts[1:2])
    assert [len(each) for each in parted(tmp_path / "texts.safetensors")] == [1, 0], "one alone is learnt"


def test_a_study_is_what_the_target_makes_of_a_text():
    text = shuffled(3, 20)
    found = study.study(tapped(), study.Text(text, 5, True))
    logits = tapped().model(found.tokens[None])[0]
    best = logits.argmax(axis=-1).tolist()
    assert found.likeliest[:, 0].tolist() == best
    assert (abs(found.logprobs[0, 0] - (logits[0] - logits[0].logsumexp()).max()) < 1e-4).item()
    wanted = [i >= 4 and i + 1 < 20 and best[i] == text[i + 1] for i in range(20)]
    assert found.greedy.tolist() == wanted


def test_a_head_begins_with_the_targets_own_rows():
    model: Any = target()
    shape = head_for(target()).shape
    head = start.eagle_head(model, shape)
    assert (head.lm_head.weight == model.model.embed_tokens.weight).all()
    layer = model.layers[-1]
    assert (head.midlayer.mlp.up_proj.weight == layer.mlp.up_proj.weight).all()
    assert (head.midlayer.self_attn.q_proj.weight[:, 32:] == layer.self_attn.q_proj.weight).all()
