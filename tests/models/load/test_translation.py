"""Translation between tokenizers of several kinds: the text stays the same."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import AddedToken, Tokenizer, processors

from models.errors import BadChoice
from models.load.token_bytes import TokenBytes
from models.load.tokenizers import read_tokenizer
from models.load.translation import USUAL, Translation, translation
from tests.models.load.tokenizer_kinds import (
    MAKERS,
    MIXED,
    WORDS,
    characters,
    ended,
    lower,
    others,
    pieces,
    spaced,
    words,
)
from tests.models.tiny_models import SPECIAL, edit, make_tokenizer


def bridged(target: Path, draft: Path) -> Translation:
    found, _ = translation(target, draft, None)
    assert found is not None
    return found


@pytest.fixture(scope="session")
def between(tmp_path_factory: pytest.TempPathFactory) -> Any:
    home, found = tmp_path_factory.mktemp("tokenizers"), {}

    def get(target: str, draft: str) -> Translation:
        for name in (target, draft):
            if name not in found:
                found[name] = read_tokenizer(MAKERS[name](home / name))
        return Translation(found[target], found[draft])

    return get


@pytest.mark.parametrize("draft", MAKERS)
@pytest.mark.parametrize("target", MAKERS)
def test_any_text_is_read_as_it_is_and_drafted_in_tokens_of_the_target(
    between: Any, target: str, draft: str
) -> None:
    """Random texts, cut anywhere: 2,000 joins over all pairs."""
    by, draw, joins = between(target, draft), random.Random(f"{target} {draft}"), 0
    ours, theirs = by.shared
    assert len(set(ours)) == len(ours) and len(set(theirs)) == len(theirs)
    assert all(by.target.of([a]) == by.draft.of([b]) for a, b in zip(ours, theirs, strict=True))
    while joins < 2000 / len(MAKERS) ** 2:
        transcript, text = by.transcript(), "".join(draw.choices(WORDS, k=draw.randint(1, 12)))
        tokens = list(by.target.nearest(text))
        for end in sorted(draw.sample(range(1, len(tokens) + 1), min(3, len(tokens)))):
            read = transcript.to_draft(tokens[:end])
            assert read == by.transcript().to_draft(tokens[:end]), "word by word is as from its beginning"
            said, wanted = by.draft.of(read), by.target.of(tokens[:end])
            if read:
                assert said == wanted
            goes_on = "".join(draw.choices(WORDS, k=2))
            drafted = list(by.draft.nearest(goes_on))[: draw.randint(1, 9)]
            found = transcript.to_target(drafted)
            assert all(token in by.target.bytes or token in by.target.special for token in found)
            whole = by.draft.of(drafted)
            assert whole.startswith(by.target.of(found)) or not read  # half a character is held back
            joins += 1


def test_a_word_that_is_cut_otherwise_after_the_join_goes_on_from_what_is_there(between: Any) -> None:
    by = between("pieces", "characters")
    tokens = [*by.target.encode("the"), *by.target.encode(" mo")]
    joined = [*by.target.encode("the"), *by.target.encode(" model")]
    assert joined[: len(tokens)] != tokens, "else this shows nothing"
    transcript = by.transcript()
    transcript.to_draft(tokens)
    assert by.target.of(transcript.to_target(by.draft.encode("del"))) == b"del"


@pytest.mark.parametrize(("make", "name", "text"), [(spaced, "▁▁▁▁", "    "), (pieces, "né", "né")])
def test_an_added_token_is_its_text(tmp_path: Path, make: Any, name: str, text: str) -> None:
    """Gemma's tokenizers have runs of spaces for indents; letters are not the bytes of a byte-level one."""
    file = make(tmp_path / "made") / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.add_tokens([AddedToken(name, normalized=False)])
    tokenizer.save(str(file))
    assert TokenBytes(read_tokenizer(file.parent)).bytes[tokenizer.get_vocab_size() - 1] == text.encode()


def test_half_a_character_is_neither_said_nor_drafted_and_its_end_completes_it(between: Any) -> None:
    by, transcript = between("pieces", "characters"), between("pieces", "characters").transcript()
    whole = [t for byte in "日".encode() for t, name in by.target.bytes.items() if name == bytes([byte])]
    assert transcript.to_draft(whole[:2]) == [] and by.draft.of(transcript.to_draft(whole)) == "日".encode()
    cut = [*whole[:2], *by.target.nearest(" model")]
    assert by.draft.of(by.transcript().to_draft(cut)).endswith(b" model"), (
        "nor does a cut one stop what follows"
    )
    drafted = list(by.draft.nearest("ab日"))[:-1]
    assert by.target.of(by.transcript().to_target(drafted)) == b"ab", "nor drafted"
    another = list(by.target.encode("model"))
    assert transcript.to_draft(another) == by.transcript().to_draft(another), "of a text that does not go on"


def test_special_tokens_are_those_of_the_same_name_or_role_and_else_left_out(between: Any) -> None:
    by = between("pieces", "spaced")
    names = {name: i for i, name in by.target.special.items()}
    user, end = names[SPECIAL[1]], names[SPECIAL[0]]
    word = list(by.target.encode("model"))
    transcript = by.transcript()
    read = transcript.to_draft([user, *word, end])
    assert by.draft.of(read) == b"model" and read[-1] == by.draft.end
    assert transcript.to_target([*by.draft.nearest("one"), read[-1], 300])[-1] == end
    assert transcript.to_target([read[-1]]) == [end], "after one of them, where nothing is written"
    same = between("pieces", "others")
    assert same.special == {i: i + len(same.draft.bytes) - len(same.target.bytes) for i in names.values()}


def test_of_two_tokens_that_end_a_text_the_one_of_the_drafts_name_is_guessed(tmp_path: Path) -> None:
    make_tokenizer(tmp_path / "target", special=("<|own|>", "<|end|>"))
    make_tokenizer(tmp_path / "draft", special=("<|end|>",))
    by = Translation(*(read_tokenizer(tmp_path / name) for name in ("target", "draft")))
    ours, theirs = by.shared
    named = [by.target.special[a] for a, b in zip(ours, theirs, strict=True) if b == by.draft.end]
    assert named == ["<|end|>"] and by.draft.end in by.special.values()


def test_the_bytes_of_other_scripts_do_not_make_a_draft_that_spells_guess_bytes(tmp_path: Path) -> None:
    target, draft = tmp_path / "target", characters(tmp_path / "draft")
    make_tokenizer(target, text=(USUAL * 9,), vocabulary=400)
    by = bridged(target, draft)
    assert len(by.shared[0]) >= 256, "both know all bytes"
    assert not by.by_vocabulary and by.known < 0.4 and by.fertility > 2


@pytest.mark.parametrize("name", MAKERS)
def test_one_tokenizer_knows_all_of_itself_pieces_before_the_bytes_that_stand_in_for_them(
    between: Any, name: str
) -> None:
    by = between(name, name)
    assert by.known == 1 and all(ours == theirs for ours, theirs in zip(*by.shared, strict=True))
    if name == "spaced":
        assert by.target.by_bytes()[b"e"] == by.target.encode("\ne")[-1] > 256
        assert by.target.bytes[by.target.by_bytes()[b"\x01"]] == b"\x01"


@pytest.mark.parametrize("make", [words, ended])
def test_words_that_stand_apart_are_read_and_drafted_with_their_spaces(tmp_path: Path, make: Any) -> None:
    target, draft = pieces(tmp_path / "target"), make(tmp_path / "draft")
    by = bridged(target, draft)
    transcript, text = by.transcript(), "the small model guesses"
    read = transcript.to_draft(by.target.nearest(text))
    assert by.draft.of(read).decode().strip() == text
    drafted = by.target.of(transcript.to_target(by.draft.nearest("ahead and the large")))
    assert drafted.decode().strip() == "ahead and the large"
    back = bridged(draft, target)
    assert back.draft.of(back.transcript().to_draft(back.target.nearest(text))) == by.draft.of(read)


@pytest.mark.parametrize("name", [SPECIAL[1], "<s>"])
def test_what_begins_a_text_is_at_its_beginning_and_there_once(tmp_path: Path, name: str) -> None:
    target, draft = tmp_path / "target", spaced(tmp_path / "draft")
    make_tokenizer(target, text=MIXED, vocabulary=400, special=(SPECIAL[0], name))
    tokenizer = Tokenizer.from_file(str(draft / "tokenizer.json"))
    bos: Any = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bos)])  # type: ignore[assignment]
    tokenizer.save(str(draft / "tokenizer.json"))
    edit(target / "tokenizer_config.json", bos_token=name)
    by = bridged(target, draft)
    word, begin = list(by.target.nearest("model")), {each: i for i, each in by.target.special.items()}[name]
    read = [by.transcript().to_draft(tokens) for tokens in (word, [begin, *word])]
    assert read[0] == read[1] and read[0][0] == bos and bos not in read[0][1:]
    again = by.transcript().to_draft([begin, *word, begin, *word])
    assert again.count(bos) == (2 if name == "<s>" else 1), "in the middle only where it is the same token"


def test_a_draft_that_changes_texts_reads_what_it_makes_of_them(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), lower(tmp_path / "draft")
    by = bridged(target, draft)
    transcript = by.transcript()
    read = transcript.to_draft(by.target.nearest("The Model"))
    assert by.draft.of(read) == b"the model"
    assert by.target.of(transcript.to_target(by.draft.nearest(" checks"))) == b" checks"


def test_the_note_says_how_it_is_bridged_what_that_costs_and_what_fits_better(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), characters(tmp_path / "draft")
    found, (note,) = translation(target, draft, "org/fits")
    parts = ("another tokenizer", "% of a usual text's tokens", "waits for the text", "org/fits")
    assert found is not None and all(part in note for part in parts), note
    same = pieces(tmp_path / "same")
    with (same / "tokenizer.json").open("a") as file:
        file.write("\n")
    assert translation(target, target, None) == translation(target, same, None) == (None, ())


def test_a_kind_of_drafter_that_needs_the_targets_tokens_is_not_translated(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), others(tmp_path / "draft")
    (draft / "config.json").write_text(json.dumps({"model_type": "llama", "pard_token": 3}))
    with pytest.raises(BadChoice, match="read text differently.*of the kind pard cannot be translated"):
        translation(target, draft, None)
