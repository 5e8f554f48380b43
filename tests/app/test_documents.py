"""`--documents`: the same text from fewer passes, and a message for an unusable folder."""

import json
from pathlib import Path

from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair

ASKED = ["generate", "--prompt", "hello", "--max-tokens", "24", "--draft", "none"]


def answer(pair: TinyPair, run: Cli, *more: object) -> tuple[dict, str]:
    out, err = run(*ASKED, "--target", pair.target, "--json", *more)
    return json.loads(out), err


def test_an_answer_that_is_in_a_document_is_the_same_text_and_copied_from_there(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    plain, _ = answer(tiny_pair, run, "--no-draft")
    (tmp_path / "texts").mkdir()
    (tmp_path / "texts" / "one.txt").write_text(plain["text"])
    for _ in range(2):
        drafted, _ = answer(tiny_pair, run, "--draft-length", 7, "--documents", tmp_path / "texts")
        assert drafted["token_ids"] == plain["token_ids"]
        assert drafted["stats"]["rounds_by_drafter"].get("grounded", 0) > 0


def test_grounded_without_documents_says_what_makes_it(tiny_pair: TinyPair, run: Cli) -> None:
    said = run(*ASKED, "--target", tiny_pair.target, "--drafter", "grounded", code=2).err
    assert "has no drafter grounded. It has: lookup, recycling, lookahead. Documents make it" in said


def test_documents_without_text_are_told_and_the_answer_comes_all_the_same(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    (tmp_path / "empty").mkdir()
    plain, _ = answer(tiny_pair, run)
    told, err = answer(tiny_pair, run, "--documents", tmp_path / "empty")
    assert told["token_ids"] == plain["token_ids"]
    assert f"{tmp_path / 'empty'} holds no text. Name a UTF-8 text, or a folder of them.\n" in err
