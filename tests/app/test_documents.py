"""`--documents`: the same text from fewer passes, and a message for an unusable folder."""

import json
from pathlib import Path

import pytest

from app.cli import main
from tests.app.tiny_pair import TinyPair

ASKED = ["generate", "--prompt", "hello", "--max-tokens", "24", "--json", "--draft", "none"]


def answer(pair: TinyPair, capfd: pytest.CaptureFixture[str], *more: str) -> tuple[dict, str]:
    assert main([*ASKED, "--target", str(pair.target), *more]) == 0
    out, err = capfd.readouterr()
    return json.loads(out), err


def test_an_answer_that_is_in_a_document_is_the_same_text_and_copied_from_there(
    tiny_pair: TinyPair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    plain, _ = answer(tiny_pair, capfd, "--no-draft")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text(plain["text"])
    for _ in range(2):
        drafted, _ = answer(tiny_pair, capfd, "--draft-length", "7", "--documents", str(tmp_path / "texts"))
        assert drafted["token_ids"] == plain["token_ids"]
        assert drafted["stats"]["rounds_by_drafter"].get("grounded", 0) > 0


def test_grounded_without_documents_says_what_makes_it(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    assert main([*ASKED, "--target", str(tiny_pair.target), "--drafter", "grounded"]) == 2
    said = capfd.readouterr().err
    assert "has no drafter grounded. It has: lookup, recycling, lookahead. Documents make it" in said


def test_documents_without_text_are_told_and_the_answer_comes_all_the_same(
    tiny_pair: TinyPair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "empty").mkdir()
    plain, _ = answer(tiny_pair, capfd)
    told, err = answer(tiny_pair, capfd, "--documents", str(tmp_path / "empty"))
    assert told["token_ids"] == plain["token_ids"]
    assert f"{tmp_path / 'empty'} holds no text. Name a UTF-8 text, or a folder of them.\n" in err
