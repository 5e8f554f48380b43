"""`train --kind characters`: a small model that spells, for a target of any vocabulary."""

import json
from pathlib import Path

import mlx_lm
import pytest

from app.cli import main
from models.load.tokenizers import read_tokenizer
from models.load.translation import Translation
from models.paths import own_drafters_folder
from models.training import job
from models.training.characters import save_tokenizer, special_names, spell
from tests.app.tiny_pair import TinyPair, write_tiny_pair
from tests.models.load.test_translation import MAKERS, WORDS
from tests.models.tiny_models import make_tokenizer

pytestmark = pytest.mark.usefixtures("small_training")
SMALL = ["--tokens", "1000", "--layers", "1", "--width", "64"]


@pytest.fixture
def tiny_pair(tmp_path: Path) -> TinyPair:
    return write_tiny_pair(tmp_path / "pair")


def train(pair: TinyPair, *more: str) -> int:
    return main(["train", str(pair.target), "--kind", "characters", *SMALL, *more])


def made(pair: TinyPair) -> Path:
    return own_drafters_folder() / pair.target.name / "characters"


def test_it_is_made_is_a_model_for_mlx_lm_and_drafts_where_it_is_named(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(tiny_pair, "--bits", "8") == 0
    said = capfd.readouterr().out
    assert f"--draft {made(tiny_pair)} lets it draft" in said and "... characters are accepted" in said
    model, tokenizer = mlx_lm.load(str(made(tiny_pair)))[:2]
    assert len(model.layers) == 1 and tokenizer.encode("né") == [*"né".encode()]  # type: ignore[attr-defined]
    assert tokenizer.eos_token == "<|end|>" and tokenizer.eos_token_ids == {256}
    config = json.loads((made(tiny_pair) / "config.json").read_text())
    assert config["mlx_spec"]["tokens"] >= 1000 and config["quantization"]["bits"] == 8
    texts, pair = [], ["--target", str(tiny_pair.target), "--draft", str(made(tiny_pair)), "--seed", "5"]
    for way in (["--no-draft"], ["--drafter", "foreign", "--draft-length", "2"]):
        for temperature in ("0", "0.8"):
            given = [*pair, *way, "--temperature", temperature, "--prompt", "abcd abcd", "--max-tokens", "24"]
            assert main(["generate", "--json", *given]) == 0
            texts.append(json.loads(capfd.readouterr().out))
    assert [each["token_ids"] for each in texts[:2]] == [each["token_ids"] for each in texts[2:]]
    assert all(each["stats"]["rounds_by_drafter"]["foreign"] > 0 for each in texts[2:])
    # Without --draft it is not used: it does not read the target's tokens.
    alone = ["--target", str(tiny_pair.target), "--draft", "none", "--prompt", "abc", "--max-tokens", "4"]
    assert main(["generate", "--json", *alone]) == 0 and main(["generate", *alone, "--drafter", "model"]) == 2
    assert "has no drafter model" in capfd.readouterr().err


def test_a_stopped_training_goes_on(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    honest, written = job.study.write, []

    def write(path: Path, studies: list) -> None:
        honest(path, studies)
        written.append(path.name)
        if len(written) == 2:
            raise KeyboardInterrupt

    monkeypatch.setattr(job.study, "write", write)
    assert train(tiny_pair) == 130
    assert "The same command goes on from here" in capfd.readouterr().err
    assert train(tiny_pair) == 0
    assert len(written) == len(set(written)), "no file is written twice"
    kept = made(tiny_pair).with_name(".characters")
    assert {each.name for each in kept.iterdir()} == {*written, "fit-1x64.safetensors"}


def test_a_dry_run_counts_characters_and_makes_nothing(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    assert train(tiny_pair, "--dry-run") == 0
    assert "for 1,000 characters of text" in capfd.readouterr().out and not own_drafters_folder().exists()


@pytest.mark.parametrize(
    ("more", "wanted"),
    [
        (["--width", "96"], "--width is 96; its attention heads are 64 wide"),
        (["--from", "x"], "--kind characters has no use for --from"),
    ],
)
def test_what_makes_no_sense_is_refused(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str], more: list[str], wanted: str
) -> None:
    assert main(["train", str(tiny_pair.target), "--kind", "characters", *more]) == 2
    assert wanted in capfd.readouterr().err


@pytest.mark.parametrize("target", MAKERS)
def test_it_learns_texts_as_it_reads_them_when_it_drafts(tmp_path: Path, target: str) -> None:
    tokenizer = read_tokenizer(MAKERS[target](tmp_path / "target"))
    make_tokenizer(tmp_path / "draft")
    tokens = Translation(tokenizer, read_tokenizer(tmp_path / "draft")).target
    named = special_names(tokens, [tokens.special[tokens.end or 0]], "{{ '<|user|>' }}")
    save_tokenizer(tmp_path / "draft", named)
    between, spelling = (
        Translation(tokenizer, read_tokenizer(tmp_path / "draft")),
        spell(tokens, named, len(tokenizer)),
    )
    ids = [*sorted(tokens.special), *between.target.nearest("".join(WORDS)), *sorted(tokens.special)]
    learnt = [own for token in ids for own in spelling[token]]
    assert between.transcript().to_draft(ids) == learnt
    assert bytes(byte for byte in learnt if byte < 256) == between.target.of(ids)
