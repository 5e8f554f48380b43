"""`train --kind characters`: a small model that spells, for a target of any vocabulary."""

import json
import shutil
from pathlib import Path

import mlx_lm
import pytest

from models.load.tokenizers import read_tokenizer
from models.load.translation import Translation
from models.paths import own_drafters_folder
from models.training.characters import save_tokenizer, special_names, spell
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair
from tests.models.load.tokenizer_kinds import MAKERS, WORDS
from tests.models.tiny_models import make_tokenizer


@pytest.mark.usefixtures("small_training")
def test_it_is_made_is_a_model_for_mlx_lm_and_drafts_where_it_is_named(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    target = Path(shutil.copytree(tiny_pair.target, tmp_path / "my target"))
    made = own_drafters_folder() / target.name / "characters"
    small = ["--layers", "1", "--width", "64", "--bits", "8"]
    said = run("train", target, "--kind", "characters", *small).out
    assert f"--draft '{made}' lets it draft" in said and "... characters are accepted" in said
    model, tokenizer = mlx_lm.load(str(made))[:2]
    assert len(model.layers) == 1 and tokenizer.encode("né") == [*"né".encode()]  # type: ignore[attr-defined]
    assert tokenizer.eos_token == "<|end|>" and tokenizer.eos_token_ids == {256}
    config = json.loads((made / "config.json").read_text())
    assert config["mlx_spec"]["tokens"] >= 150 and config["quantization"]["bits"] == 8
    texts, pair = [], ["--target", str(target), "--draft", str(made), "--seed", "5"]
    for way in (["--no-draft"], ["--drafter", "foreign", "--draft-length", "2"]):
        for temperature in ("0", "0.8"):
            given = [*pair, *way, "--temperature", temperature, "--prompt", "abcd abcd", "--max-tokens", "12"]
            texts.append(run.json("generate", *given))
    assert [each["token_ids"] for each in texts[:2]] == [each["token_ids"] for each in texts[2:]]
    assert all(each["stats"]["rounds_by_drafter"]["foreign"] > 0 for each in texts[2:])
    # Without --draft it is not used: it does not read the target's tokens.
    alone = ["--target", str(target), "--draft", "none", "--prompt", "abc", "--max-tokens", "4"]
    run("generate", *alone)
    assert "has no drafter model" in run("generate", *alone, "--drafter", "model", code=2).err


@pytest.mark.parametrize("target", MAKERS)
def test_it_learns_texts_as_it_reads_them_when_it_drafts(tmp_path: Path, target: str) -> None:
    tokenizer = read_tokenizer(MAKERS[target](tmp_path / "target"))
    make_tokenizer(tmp_path / "draft")
    tokens = Translation(tokenizer, read_tokenizer(tmp_path / "draft")).target
    named = special_names(tokens, [tokens.special[tokens.end or 0]], "{{ '<|user|>' }}")
    save_tokenizer(tmp_path / "draft", named)
    between = Translation(tokenizer, read_tokenizer(tmp_path / "draft"))
    spelling = spell(tokens, named, len(tokenizer))
    ids = [*sorted(tokens.special), *between.target.nearest("".join(WORDS)), *sorted(tokens.special)]
    learnt = [own for token in ids for own in spelling[token]]
    assert between.transcript().to_draft(ids) == learnt
    assert bytes(byte for byte in learnt if byte < 256) == between.target.of(ids)
