"""`train`: what is refused before anything is read."""

import json
import shutil
from pathlib import Path

import pytest

from app.cli import main
from tests.app.tiny_pair import TinyPair


def test_a_tokenizer_that_needs_its_own_code_is_refused(
    tiny_pair: TinyPair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    target = shutil.copytree(tiny_pair.target, tmp_path / "target")
    own = {"tokenizer_class": "Own", "auto_map": {"AutoTokenizer": ["tokenization_own.Own", None]}}
    (target / "tokenizer_config.json").write_text(json.dumps(own))
    assert main(["train", str(target), "--dry-run"]) == 2
    assert "code from model repositories is never executed here" in capfd.readouterr().err


def test_a_wrong_address_of_the_hub_is_named(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://[")
    assert main(["train", str(tiny_pair.target), "--dry-run"]) == 3
    assert "HF_ENDPOINT is 'http://['" in capfd.readouterr().err
