"""`train`: from a target to a drafter that every command uses."""

import json
import shutil
import signal
from collections.abc import Iterator
from pathlib import Path

import mlx.core as mx
import pytest

from app.cli import main
from mlx_spec.training.study import Text
from models.load.checkpoint import opened
from models.load.tokenizers import read_tokenizer
from models.paths import own_drafters_folder
from models.training import fitting
from tests.app.commands.test_train_killed import unfinished
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.models.drafter_folders import EAGLE, edit_config, edit_tensors, make_drafter, make_eagle
from tests.models.tiny_models import make_model, make_tokenizer

pytestmark = pytest.mark.usefixtures("quick_training")


def drafter_of(pair: TinyPair, kind: str = "eagle") -> Path:
    return own_drafters_folder() / pair.target.name / kind


def test_a_head_is_trained_further_from_where_it_was_if_it_has_the_same_taps(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    head = make_eagle(tmp_path / "head", tiny_pair.target, range(384))
    given = ["train", str(tiny_pair.target), "--from", str(head)]
    monkeypatch.setattr("models.training.kinds.FURTHER", 0.0)  # a learning rate of 0 changes no weight
    for _ in range(2):  # another head lies there the second time
        edit_tensors(head, lambda tensors: tensors.update({"norm.weight": tensors["norm.weight"] + 1}))
        run(*given)
        before, after = _weights(head), _weights(drafter_of(tiny_pair))
        assert before.keys() == after.keys()
        assert all(mx.array_equal(before[name], after[name]) for name in before)
    config = json.loads((head / "config.json").read_text())["eagle_config"]
    edit_config(head, eagle_config=config | {"eagle_aux_hidden_state_layer_ids": [1, 0]})
    assert "reads the layers (1, 0)" in run(*given, code=2).err


@pytest.mark.parametrize(
    ("named", "value"),
    [
        ("norm_before_residual", True),
        ("norm_output", True),
        ("qk_norm", None),
        ("rope_scaling", {"rope_type": "linear", "factor": 2.0}),
    ],
)
def test_a_head_with_what_training_leaves_out_is_not_trained_further(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli, named: str, value: object
) -> None:
    head = make_eagle(tmp_path / "head", tiny_pair.target, range(0, 384, 3))
    if named == "qk_norm":
        norms = {f"midlayer.self_attn.{each}_norm.weight": mx.ones(16) for each in "qk"}
        edit_tensors(head, lambda tensors: tensors.update(norms))
    else:
        edit_config(head, **{named: value})
    err = run("train", tiny_pair.target, "--from", head, code=2).err
    assert f"{head} has {named}, which training here leaves out" in err


def _weights(folder: Path) -> dict[str, mx.array]:
    return mx.load(str(folder / "model.safetensors"))  # type: ignore[return-value]


@pytest.mark.parametrize(
    ("kind", "kept"),
    [(["eagle"], "fit"), (["characters", "--layers", "1", "--width", "64"], "fit-1x64")],
    ids=["eagle", "characters"],
)
def test_a_stopped_training_goes_on(
    kind: list[str], kept: str, tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, written = fitting.study.write, []

    def write(path: Path, studies: list) -> None:
        honest(path, studies)
        written.append(path.name)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(fitting.study, "write", write)
    train = ["train", str(tiny_pair.target), "--kind", *kind]
    assert "The same command goes on from here" in run(*train, code=130).err
    run(*train, "--bits", "8")
    assert len(written) == len(set(written)), "no file is written twice"
    made, folder = drafter_of(tiny_pair, kind[0]), unfinished(tiny_pair, kind[0])
    assert json.loads((made / "config.json").read_text())["quantization"]["bits"] == 8
    assert {each.name for each in folder.iterdir()} == {*written, f"{kept}.safetensors"}
    texts = [str(text.tokens.tolist()) for name in written for text in fitting.study.read(folder / name)]
    assert len(texts) == len(set(texts)) == 6, "and no text"


def test_ctrl_c_ends_a_training_before_its_first_text_is_written(
    tiny_pair: TinyPair, run: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    def texts(*_: object) -> Iterator[Text]:
        signal.raise_signal(signal.SIGINT)
        pytest.fail("it goes on")
        yield

    monkeypatch.setattr("mlx_spec.training.own_text.own_texts", texts)
    assert "Stopped. The same command goes on" in run("train", tiny_pair.target, code=130).err


@pytest.mark.parametrize(
    ("kind", "said"),
    [
        ("eagle --tokens 50000", ("for 50,000 tokens of text", "on disk")),
        ("model", ("for 170 tokens of text", "on disk")),
        ("characters --layers 1 --width 64", ("for 170 characters of text", "on disk")),
        ("layer_skip", ("here and now", "each, at most 3\n")),
    ],
)
def test_a_dry_run_says_what_it_takes_and_makes_nothing(
    kind: str, said: tuple[str, str], tiny_pair: TinyPair, run: Cli
) -> None:
    printed = run("train", tiny_pair.target, "--dry-run", "--kind", *kind.split()).out
    place = drafter_of(tiny_pair, kind.split()[0])
    assert all(each in printed for each in (*said, str(place))) and not own_drafters_folder().exists()


def test_a_dry_run_counts_no_writing_of_texts_that_are_given(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    (tmp_path / "long.txt").write_text("a text of one's own " * 500)
    printed = run("train", tiny_pair.target, "--dry-run", "--tokens", "1000", "--texts", tmp_path).out
    assert "  the target writes the rest 0 s\n" in printed


@pytest.mark.parametrize("kind", ["eagle", "characters --layers 1 --width 64"])
def test_a_dry_run_counts_nothing_that_an_earlier_run_did(
    kind: str, tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    """Each step takes an hour on the text that it is timed on."""
    train = ["train", tiny_pair.target, "--kind", *kind.split()]
    run(*train)
    monkeypatch.setattr(fitting, "seconds", lambda _: 3600.0)
    assert "  training data is computed  0 s, 0 B on disk\n" in (out := run(*train, "--dry-run").out)
    assert "  the target writes the rest 0 s\n" in out and "  the drafter learns         0 s\n" in out
    assert "computed  0 s" not in run(*train, "--dry-run", "--tokens", "1000").out


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        ("nowhere/at-all", "is not on this machine"),
        ("nobody", "nobody"),
        ("{head}", "holds a drafter (eagle), not a model"),
        ("{target} --kind oracle", "--kind is oracle; it must be one of: eagle, medusa"),
        ("{target} --bits 5", "--bits is 5"),
        ("{target} --kind medusa --from {head}", "a drafter of the kind eagle, and --kind is medusa"),
        ("{target} --kind eagle --layers 2", "eagle has no use for --layers; it is for model, characters."),
        ("{target} --kind layer_skip --bits 8", "layer_skip has no use for --bits; it is for eagle"),
        ("{target} --kind layer_skip --tokens 2000", "--kind layer_skip has no use for --tokens"),
        ("{target} --kind characters --from x", "--kind characters has no use for --from"),
        ("{target} --kind characters --layers 999999",
         "--layers 999999 and --width 256 make a model of more"),
        ("{target} --kind characters --width 64000",
         "--layers 4 and --width 64000 make a model of more than"),
        ("{target} --kind characters --width 96", "--width is 96; its attention heads are 64 wide"),
        ("{target} --kind model --from x --width 64", "--from names a model, which has its layers and width"),
        ("{target} --kind model --from {target}", "is no smaller than the target"),
        ("{target} --kind model --from nowhere/at-all", "is not on this machine"),
        ("{target} --kind model --from {odd}", "read text differently"),
        ("{target} --kind model --from {head}", "holds a drafter (eagle), not a model"),
        ("{target} --kind model --width 17", "--width is 17; the target's heads are 16 wide"),
        ("{target} --kind model --width 64", "--width is 64"),
        ("{target} --kind model --layers 2", "--layers is 2; the target has 2"),
        ("{target} --from-chats", "no answer is saved yet"),
        ("{target} --texts {empty}", "empty.txt holds no text. Name a UTF-8 text, or a folder of them."),
    ],
)  # fmt: skip
def test_what_makes_no_sense_is_refused_by_name(
    arguments: str, wanted: str, tiny_pair: TinyPair, run: Cli, tmp_path: Path
) -> None:
    head, odd = make_drafter(tmp_path / "head", EAGLE), make_model(tmp_path / "odd", num_hidden_layers=1)
    make_tokenizer(odd, text=("other words " * 30,))
    (empty := tmp_path / "empty.txt").touch()
    given = arguments.format(target=tiny_pair.target, head=head, odd=odd, empty=empty).split()
    assert wanted in run("train", *given, code=2).err


def test_a_target_that_does_not_fit_into_memory_is_refused_before_it_is_read(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("models.load.engine.capacity", lambda: 1000)

    err = run("train", tiny_pair.target, "--dry-run", code=3).err
    assert "of memory as float32, which they become without Metal, and 1.0 kB can be used" in err


def test_a_disk_without_room_for_the_data_is_told_before_it_is_full_and_a_full_one_when_it_is(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def full(*_: object) -> None:
        raise RuntimeError("[write] Unable to write 5 bytes to file.")

    train = ["train", str(tiny_pair.target)]
    with monkeypatch.context() as patch:
        patch.setattr(mx, "save_safetensors", full)
        assert "The disk is full" in run(*train, code=3).err
    monkeypatch.setattr(fitting, "free_disk", lambda folder: 500_000_000)
    for more in ([], ["--dry-run"]):
        assert "The training data takes " in run(*train, *more, code=3).err
    run(*train, "--dry-run", "--hours", 1)
    assert not list(unfinished(tiny_pair, "eagle").glob("texts-?????.safetensors"))
    monkeypatch.setattr(fitting, "EPOCHS", 0)  # to read texts is enough
    assert main([*train, "--hours", "1"]) == 0, "how much it will write is not known"
    run(*train, "--dry-run")  # nothing is left to write


def test_a_folder_that_is_deleted_during_the_training_is_named(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    honest = fitting.study.write

    def write(path: Path, studies: list) -> None:
        shutil.rmtree(path.parent)
        honest(path, studies)

    monkeypatch.setattr(fitting.study, "write", write)
    err = run("train", tiny_pair.target, code=3).err
    assert "The system reports: [Errno 2] No such file or directory: " in err and "texts-00000" in err


def test_no_text_is_read_after_the_last_that_was_asked_for(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(fitting, "TEXTS", 20)
    run("train", tiny_pair.target)
    config = json.loads((drafter_of(tiny_pair) / "config.json").read_text())
    assert config["mlx_spec"]["tokens"] == 180, "texts of 30 tokens, and 170 are wanted"


def test_given_texts_are_learnt_from_first_and_none_twice_after_a_stop(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    texts = tmp_path / "texts"
    texts.mkdir()
    for i in range(12):
        (texts / f"{i}.txt").write_text(f"{chr(97 + i)}" * 60 + " abc" * 10)
    (texts / "long.txt").write_text("z" * 5000)
    monkeypatch.setattr("models.documents.folder.LARGEST_FILE", 4000)
    honest, begun = fitting.study.study, []

    def study(target, text):
        begun.append(text.tokens[0])
        if len(begun) == 6:
            raise KeyboardInterrupt
        return honest(target, text)

    monkeypatch.setattr(fitting.study, "study", study)
    monkeypatch.setattr(fitting, "EPOCHS", 0)  # to read them is enough
    given = ["train", str(tiny_pair.target), "--tokens", "1000", "--texts", str(texts)]
    assert "1 of the documents cannot be read, such as" in run(*given, code=130).err
    run(*given)
    assert begun[6] == begun[4], "the file that was not finished is read again, and no other"
    kept = [begun[0], *begun[1:4], *begun[6:]]
    assert len(set(kept[:10])) == 10


def test_texts_that_are_named_later_are_read_all(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(fitting, "EPOCHS", 0)  # to read them is enough
    assert main(["train", str(tiny_pair.target)]) == 0
    words = [letter * 20 for letter in "abcdefgh"]
    for word in words:
        (tmp_path / f"{word[0]}.txt").write_text(word)
    monkeypatch.setattr("models.training.fitting.TOKENS", 400)
    assert main(["train", str(tiny_pair.target), "--texts", str(tmp_path)]) == 0
    studied = unfinished(tiny_pair, "eagle").glob("texts-*")
    tokens = [text.tokens.tolist() for file in studied for text in fitting.study.read(file)]
    with opened(tiny_pair.target) as files:
        encode = read_tokenizer(files.folder).encode
    assert all(encode(word, add_special_tokens=False) in tokens for word in words)
