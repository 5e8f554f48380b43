"""Which tokenizers fit: decided by how they encode text, not by sizes."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import BadChoice, BrokenFiles
from models.load.engine import load
from models.load.tokenizers import check_folders, differences, read_tokenizer, same_files
from models.pairs.resolve import resolve
from tests.models.tiny_models import SPECIAL, TEMPLATE, edit, make_pair, make_tokenizer


@pytest.fixture
def target(tmp_path: Path) -> Path:
    make_tokenizer(tmp_path / "target")
    return tmp_path / "target"


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    return tmp_path / "draft"


def rewrite(folder: Path, **changes: Any) -> None:
    """Change parts of tokenizer.json's model."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    content["model"] |= changes
    path.write_text(json.dumps(content))


def model_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "tokenizer.json").read_text())["model"]


def test_the_same_tokenizer_is_accepted_in_another_file_too(target: Path, draft: Path) -> None:
    make_tokenizer(draft)
    check_folders(target, draft)

    rewrite(draft, end_of_word_suffix="")
    assert (draft / "tokenizer.json").read_bytes() != (target / "tokenizer.json").read_bytes()
    check_folders(target, draft)
    assert differences(read_tokenizer(target), read_tokenizer(draft)) == ("", ())


def test_only_files_that_say_the_same_are_taken_for_one_tokenizer(target: Path, draft: Path) -> None:
    assert not same_files(target, draft), "the draft has none"
    make_tokenizer(draft)
    assert same_files(target, draft)
    edit(draft / "tokenizer_config.json", add_prefix_space=True)
    assert not same_files(target, draft)


def test_a_token_of_the_chat_template_that_the_draft_lacks_is_refused(target: Path, draft: Path) -> None:
    """As Qwen3 against Qwen2.5: one byte-pair vocabulary, one `vocab_size`, but `<think>` is only in one."""
    make_tokenizer(draft)
    make_tokenizer(target, special=(*SPECIAL, "<think>"), template=TEMPLATE + "<think>")
    assert read_tokenizer(target).vocab_size == read_tokenizer(draft).vocab_size

    for pair in ((target, draft), (draft, target)):
        with pytest.raises(BadChoice, match="'<think>'.*unknown|unknown.*'<think>'"):
            check_folders(*pair)


def test_unused_added_tokens_may_differ_and_are_noted(target: Path, draft: Path) -> None:
    make_tokenizer(target, special=(*SPECIAL, "<|reserved_1|>", "<|reserved_2|>"))
    make_tokenizer(draft, special=(*SPECIAL, "<|unused_1|>"))

    check_folders(target, draft)
    _, (note,) = differences(read_tokenizer(target), read_tokenizer(draft))

    assert "2 unused tokens differ" in note and "'<|reserved_1|>'" in note and "'<|unused_1|>'" in note


def test_ordinary_tokens_that_differ_are_refused(target: Path, draft: Path) -> None:
    make_tokenizer(draft, text=("entirely other words " * 30,))
    ours, theirs = ({i: t for t, i in model_of(f)["vocab"].items()} for f in (target, draft))
    first = next(i for i in range(400) if ours.get(i) != theirs.get(i))

    with pytest.raises(BadChoice, match="Choose a draft of the target's own family") as refusal:
        check_folders(target, draft)
    what = f"id {first} is '{ours[first]}' to the target and '{theirs[first]}' to the draft"
    assert what in str(refusal.value)


def test_one_vocabulary_with_other_merges_is_refused_by_a_text(target: Path, draft: Path) -> None:
    make_tokenizer(draft)
    rewrite(draft, merges=list(reversed(model_of(draft)["merges"])))

    with pytest.raises(BadChoice, match=r"the text '.*' is \[.*\] to the target and \[.*\] to the draft"):
        check_folders(target, draft)


def test_another_end_of_text_is_refused(target: Path, draft: Path) -> None:
    make_tokenizer(target, template="")
    make_tokenizer(draft, special=("<|stop|>", *SPECIAL[1:]), template="")

    with pytest.raises(BadChoice, match=r"'<\|end\|>' to the target and '<\|stop\|>' to the draft"):
        check_folders(target, draft)


def test_a_tokenizer_s_own_limit_may_be_anything(tmp_path: Path) -> None:
    folder, _ = make_pair(tmp_path)
    edit(folder / "tokenizer_config.json", model_max_length="long")
    assert load(resolve(target=str(folder), draft="none")).tokenizer.encode("a text")


def test_a_chat_template_in_the_older_file_of_its_own_is_read_unless_there_is_a_newer(tmp_path: Path) -> None:
    folder, _ = make_pair(tmp_path)

    def templates() -> tuple[bool, Any, Any]:
        wrapped = load(resolve(target=str(folder), draft="none")).tokenizer
        return wrapped.has_chat_template, wrapped.chat_template, read_tokenizer(folder).chat_template

    (newer := folder / "chat_template.jinja").unlink(missing_ok=True)
    edit(folder / "chat_template.json", chat_template="older")
    edit(folder / "tokenizer_config.json", chat_template=None)
    assert templates() == (True, "older", "older")
    newer.write_text("newer")
    assert templates() == (True, "newer", "newer")
    newer.unlink()
    edit(folder / "tokenizer_config.json", chat_template="own")
    assert templates() == (True, "own", "own")


def test_what_transformers_cannot_take_in_config_json_is_not_blamed_on_the_tokenizer(target: Path) -> None:
    edit(target / "config.json", model_type="exaone4", sliding_window=8, sliding_window_pattern="LLLG")

    with pytest.raises(BrokenFiles, match=r"^config\.json in .*target cannot be read .unsupported operand"):
        read_tokenizer(target)

    (target / "config.json").unlink()
    (target / "tokenizer.json").write_text("{}")
    with pytest.raises(BrokenFiles, match="^The tokenizer in .*target cannot be read"):
        read_tokenizer(target)
