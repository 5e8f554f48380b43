"""`train --kind`: a head, a small model, and a subset of the target's layers, of texts the target writes."""

import json
import signal
from collections.abc import Iterator
from itertools import repeat
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx_lm
import pytest
from mlx_lm.models.llama import Model, ModelArgs

from app.cli import main
from mlx_spec.training.layer_search import Found
from mlx_spec.training.own_text import Sizes
from mlx_spec.training.study import Text
from models.errors import BadChoice
from models.pairs.own_drafters import own_drafters
from models.pairs.pair import Source
from models.paths import own_drafters_folder
from models.training import layer_skip
from models.training.kinds import KINDS
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair, write_tiny_pair
from tests.models.tiny_models import edit, make_model, model_config

GENERATE = ["generate", "--prompt", "abcd abcd abcd", "--max-tokens", "12"]
GAINS = Found((0,), (0.75, 0.5), 1.0, 2, 1.25, 2.0)
SLOWER = Found((0,), (0.25, 0.0), 1.0, 1, 0.75, 1.5)


@pytest.fixture(autouse=True)
def small(small_training: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layer_skip, "TOKENS", 60)
    monkeypatch.setattr(layer_skip, "SIZES", Sizes(rows=3, asked=4, answered=24, temperatures=(0.0,)))


@pytest.fixture
def tiny_pair(tmp_path: Path) -> TinyPair:
    """A new one for each test: some change it."""
    return write_tiny_pair(tmp_path / "pair")


def own(pair: TinyPair, kind: str) -> Path:
    return own_drafters_folder() / pair.target.name / kind


def drafts(pair: TinyPair, name: str, run: Cli, *drafter: str) -> bool:
    """Whether the drafter of this name drafted; the text must not change."""
    alone, texts = ["--draft", "none"], []
    for way in ([*alone, "--no-draft"], [*(drafter or (*alone, "--drafter", name)), "--draft-length", "3"]):
        texts.append(run.json(*GENERATE, "--target", pair.target, *way))
    assert texts[0]["token_ids"] == texts[1]["token_ids"]
    return texts[1]["stats"]["rounds_by_drafter"][name] > 0


@pytest.mark.parametrize(
    ("kind", "sign"),
    [("eagle", ("architectures", ["LlamaForCausalLMEagle3"])), ("medusa", ("medusa_num_heads", 4))],
)
def test_a_head_is_trained_written_and_drafts(
    tiny_pair: TinyPair, run: Cli, kind: str, sign: tuple[str, object]
) -> None:
    folder = own(tiny_pair, kind)
    assert f"{folder} is ready" in run("train", tiny_pair.target, "--kind", kind).out
    about = json.loads((folder / "config.json").read_text())
    assert about[sign[0]] == sign[1]
    assert about["mlx_spec"]["tokens"] >= 150 and len(about["mlx_spec"]["acceptance"]) == 4
    assert drafts(tiny_pair, kind, run)


def test_a_small_model_is_made_and_is_a_model_for_every_program(
    tiny_pair: TinyPair, run: Cli, tmp_path: Path
) -> None:
    (tiny_pair.target / "tokenizer").mkdir()  # some repositories have such a folder
    given = ["train", str(tiny_pair.target), "--kind", "model"]
    said = run(*given, "--layers", 1, "--width", 16).out
    folder = own(tiny_pair, "model")
    assert f"{folder} is ready" in said and "tokens per pass" in said
    model, tokenizer = mlx_lm.load(str(folder))[:2]
    assert len(model.layers) == 1 and model.args.hidden_size == 16  # type: ignore[attr-defined]
    assert tokenizer.encode("the model") == mlx_lm.load(str(tiny_pair.target))[1].encode("the model")
    about = json.loads((folder / "config.json").read_text())["mlx_spec"]
    assert about["target"] == str(tiny_pair.target) and len(about["acceptance"]) == 4
    assert drafts(tiny_pair, "model", run)
    elsewhere = folder.rename(tmp_path / "elsewhere")
    assert drafts(tiny_pair, "model", run, "--drafter", str(elsewhere))
    # A model of another size learns from the same texts, and starts anew.
    run(*given, "--layers", 1, "--width", 32)
    assert json.loads((folder / "config.json").read_text())["hidden_size"] == 32


def test_another_model_is_taught_and_written_with_few_bits(tiny_pair: TinyPair, run: Cli) -> None:
    make_model(tiny_pair.target, num_hidden_layers=2, hidden_size=64, max_position_embeddings=4096)
    make_model(tiny_pair.draft, num_hidden_layers=1, hidden_size=64, max_position_embeddings=4096)
    given = ["train", str(tiny_pair.target), "--kind", "model", "--from", str(tiny_pair.draft)]
    run(*given, "--bits", 8)
    config = json.loads((own(tiny_pair, "model") / "config.json").read_text())
    assert config["quantization"] == {"group_size": 64, "bits": 8} and config["hidden_size"] == 64
    assert drafts(tiny_pair, "model", run)


@pytest.mark.usefixtures("quick_training")
def test_another_model_in_the_same_place_is_taught_anew(
    tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.training.draft_model.GENTLE", 0.0)  # a learning rate of 0 changes no weight
    for seed in range(2):
        base = make_model(tiny_pair.draft, seed=seed, num_hidden_layers=1)
        run("train", tiny_pair.target, "--kind", "model", "--from", base)
        made, begun = (
            mx.load(str(folder / "model.safetensors"))["model.embed_tokens.weight"]  # type: ignore[index]
            for folder in (own(tiny_pair, "model"), base)
        )
        assert mx.array_equal(made, begun.astype(mx.float16))


def searches(monkeypatch: pytest.MonkeyPatch, *founds: Found, stop: bool = False) -> None:
    def search(*_: Any) -> Iterator[Found]:
        for found in founds:
            yield found
            if stop and found is founds[-1]:
                signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(layer_skip, "search", search)


def test_a_whole_search_says_what_it_found(tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]) -> None:
    code = main(["train", str(tiny_pair.target), "--kind", "layer_skip"])
    assert code in (0, 1)
    assert ("is ready" if code == 0 else "No gain: ") in capfd.readouterr().out
    assert own(tiny_pair, "layer_skip").exists() == (code == 0)


@pytest.mark.usefixtures("quick_training")
def test_layers_are_kept_and_draft_only_if_they_gain_and_old_ones_stay(
    tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, folder = ["train", str(tiny_pair.target), "--kind", "layer_skip"], own(tiny_pair, "layer_skip")
    searches(monkeypatch, SLOWER)
    said = run(*train, code=1).out
    assert "No gain: 1 layer, " in said and "give 0.75 of plain" in said and "Nothing is kept." in said
    assert not folder.exists()
    searches(monkeypatch, SLOWER, GAINS)
    said = run(*train).out
    assert f"{folder} is ready" in said and "give 1.25 of plain decoding's speed at 2 tokens drafted" in said
    config = json.loads((folder / "config.json").read_text())
    assert config["layers"] == [0] and config["mlx_spec"]["target"] == str(tiny_pair.target)
    assert drafts(tiny_pair, "layer_skip", run)
    searches(monkeypatch, SLOWER)
    assert f"The one in {folder} stays as it is." in run(*train, code=1).out
    assert json.loads((folder / "config.json").read_text()) == config


@pytest.mark.usefixtures("quick_training")
def test_a_stopped_search_keeps_its_best_where_there_was_none(
    tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, folder = ["train", str(tiny_pair.target), "--kind", "layer_skip"], own(tiny_pair, "layer_skip")
    searches(monkeypatch, SLOWER, stop=True)
    assert "Nothing is kept" in run(*train, code=130).err and not folder.exists()
    searches(monkeypatch, SLOWER, GAINS, stop=True)
    assert f"It is kept in {folder}" in run(*train, code=130).err
    assert json.loads((folder / "config.json").read_text())["layers"] == [0]
    searches(monkeypatch, GAINS, stop=True)
    assert f"stays in {folder}" in run(*train, code=130).err


def test_a_target_that_does_not_fit_is_refused(
    tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.training.draft_model.vocabulary", fails)
    err = run("train", tiny_pair.target, "--kind", "model", code=2).err
    assert "names no 'n_embd', which a new draft model needs" in err
    with pytest.raises(BadChoice, match="names no 'hidden_size', which an eagle head needs"):
        KINDS["eagle"](Model(ModelArgs.from_dict(model_config())), {})


def test_a_target_learns_from_a_few_texts_of_its_own_and_none_of_another_one_of_its_name(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.training.fitting.TEXTS", 4)  # all in one file
    monkeypatch.setattr("models.training.fitting.TOKENS", 60)
    assert main(["train", str(tiny_pair.target)]) == 0
    make_model(tiny_pair.target, hidden_size=16)
    assert main(["train", str(tiny_pair.target)]) == 0
    config = json.loads((own(tiny_pair, "eagle") / "config.json").read_text())
    assert config["hidden_size"] == 16
    assert len(config["mlx_spec"]["acceptance"]) == 4, "one of them is held out"


@pytest.mark.usefixtures("quick_training")
def test_targets_of_one_name_keep_their_drafters(tiny_pair: TinyPair, tmp_path: Path) -> None:
    other = write_tiny_pair(tmp_path / "other").target
    for target in (tiny_pair.target, other, other):
        assert main(["train", str(target), "--kind", "medusa"]) == 0
    mine, its = (own_drafters(Source(str(target)))[0]["medusa"] for target in (tiny_pair.target, other))
    assert mine == own(tiny_pair, "medusa") and its.parent == mine.parent and its != mine
    made_for = [
        json.loads((folder / "config.json").read_text())["mlx_spec"]["target"] for folder in (mine, its)
    ]
    assert made_for == [str(tiny_pair.target), str(other)]
    assert len([*mine.parent.glob("medusa*")]) == 2


@pytest.mark.usefixtures("quick_training")
def test_a_target_that_writes_no_chats_learns_from_given_texts_alone(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = tiny_pair.target / "tokenizer_config.json"
    train = ["train", str(tiny_pair.target)]
    edit(settings, chat_template="{{ raise_exception('who asks?') }}")
    assert "chat template refuses a question (who asks?). Give it --texts" in run(*train, code=2).err
    edit(settings, chat_template=None)
    text = tmp_path / "text.txt"
    text.write_text("abc")
    without = "no chat template, so it cannot write chats. Give it --texts FOLDER, which all kinds but layer_"
    assert without in run(*train, code=2).err
    for more in ([], ["--dry-run"]):
        assert "No text is long enough to learn from." in run(*train, "--texts", text, *more, code=2).err
    text.write_text("abc abd " * 10)
    expected = run(*train, "--texts", text, "--dry-run").out
    said = run(*train, "--texts", text).out
    assert "not measured: that takes a text held out" in said and "`mlx-spec bench` measures its gain" in said
    config = json.loads((own(tiny_pair, "eagle") / "config.json").read_text())
    assert 16 <= (learnt := config["mlx_spec"]["tokens"]) <= 80
    assert f"for {learnt} tokens of text" in expected and "target writes the rest 0 s" in expected
    assert "is computed  0 s, 0 B" in run(*train, "--texts", text, "--dry-run").out, "nothing is left"
    monkeypatch.setattr("models.training.fitting.TOKENS", learnt)
    run(*train)  # enough is read


@pytest.mark.usefixtures("quick_training")
def test_a_target_that_writes_short_texts_alone_is_not_asked_for_ever(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(*_: object) -> Iterator[Text]:
        yield from repeat(Text([1, 2, 3], 2, True), 2000)
        pytest.fail("it goes on")

    monkeypatch.setattr("mlx_spec.training.own_text.own_texts", texts)
    train = ["train", str(tiny_pair.target)]
    assert "No text is long enough to learn from. Name longer ones" in run(*train, code=2).err
    given = tmp_path / "text.txt"
    given.write_text("abc abd " * 10)
    assert "eagle is ready" in run(*train, "--texts", given).out


def fails(target: object) -> int:
    raise KeyError("n_embd")
