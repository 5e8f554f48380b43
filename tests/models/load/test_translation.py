"""Translation between tokenizers of several kinds: the text stays the same."""

import json
import random
from pathlib import Path
from typing import Any

import pytest
from tokenizers import (
    AddedToken,
    Tokenizer,
    decoders,
    models,
    normalizers,
    pre_tokenizers,
    processors,
    trainers,
)

from models.errors import BadChoice
from models.load.token_bytes import TokenBytes
from models.load.tokenizers import read_tokenizer
from models.load.translation import USUAL, Translation, translation
from tests.models.tiny_models import SPECIAL, TEXT, make_tokenizer

WORDS = ("the small model", " guesses", " ahead\n", "\n\n  def f(x):", " return", " größe naïve", " 日本語",
         "は", "👩\u200d💻", " 12345", " x+1", "é", "ing", " unbelievable", "\t", "  ", " the", "large",
         " one,", " checks.")  # fmt: skip
MIXED = (*TEXT, "größe naïve 日本語は 👩‍💻 12345 unbelievable guessing\t\n " * 9)


def saved(tokenizer: Tokenizer, folder: Path, **more: Any) -> Path:
    folder.mkdir()
    tokenizer.add_special_tokens([AddedToken(name, special=True) for name in ("<s>", "</s>")])
    tokenizer.save(str(folder / "tokenizer.json"))
    config = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>", **more}
    (folder / "tokenizer_config.json").write_text(json.dumps(config))
    return folder


def spaced(folder: Path) -> Path:
    """As SentencePiece: a space before every text, byte fallback."""
    tokenizer = Tokenizer(models.BPE(byte_fallback=True, unk_token="<unk>"))
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])  # type: ignore[assignment]
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(), decoders.Strip(" ", 1, 0)]
    )  # type: ignore[assignment]
    fallback = ["<unk>", *(f"<0x{byte:02X}>" for byte in range(256))]
    trainer = trainers.BpeTrainer(vocab_size=500, show_progress=False, special_tokens=fallback)
    tokenizer.train_from_iterator(MIXED, trainer)
    content = json.loads(tokenizer.to_str())
    content["added_tokens"] = []  # bytes are pieces like others
    return saved(Tokenizer.from_str(json.dumps(content)), folder)


def characters(folder: Path) -> Path:
    """A token for some characters, bytes for the rest."""
    letters = sorted(set("".join(TEXT)) | {"é"})
    tokenizer = Tokenizer(
        models.BPE(
            {name: i for i, name in enumerate([*(f"<0x{byte:02X}>" for byte in range(256)), *letters])},
            [],
            byte_fallback=True,
        )
    )
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Fuse()])  # type: ignore[assignment]
    return saved(tokenizer, folder)


def lower(folder: Path) -> Path:
    """It lower-cases its texts."""
    make_tokenizer(folder)
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.normalizer = normalizers.Lowercase()  # type: ignore[assignment]
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


def pieces(folder: Path) -> Path:
    make_tokenizer(folder, text=MIXED, vocabulary=400)
    return folder


def others(folder: Path) -> Path:
    make_tokenizer(folder, text=("entirely other words, größer still " * 30,), vocabulary=340)
    return folder


def words(folder: Path) -> Path:
    """As BERT: tokens are separate words, and continuations are marked."""
    tokenizer = Tokenizer(models.WordPiece(unk_token="<unk>"))
    tokenizer.normalizer = normalizers.BertNormalizer()  # type: ignore[assignment]
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.decoder = decoders.WordPiece()  # type: ignore[assignment]
    trainer = trainers.WordPieceTrainer(vocab_size=200, show_progress=False, special_tokens=["<unk>"])
    tokenizer.train_from_iterator(MIXED, trainer)
    return saved(tokenizer, folder)


def ended(folder: Path) -> Path:
    """As the first GPT: the end of a word is marked."""
    tokenizer = Tokenizer(models.BPE(unk_token="<unk>", end_of_word_suffix="</w>"))
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()  # type: ignore[assignment]
    tokenizer.decoder = decoders.BPEDecoder(suffix="</w>")  # type: ignore[assignment]
    trainer = trainers.BpeTrainer(
        vocab_size=300, show_progress=False, end_of_word_suffix="</w>", special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(MIXED, trainer)
    return saved(tokenizer, folder)


def unigram(folder: Path) -> Path:
    """As T5, with byte fallback."""
    tokenizer = Tokenizer(models.Unigram())
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()  # type: ignore[assignment]
    tokenizer.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace()])  # type: ignore[assignment]
    trainer = trainers.UnigramTrainer(
        vocab_size=200, show_progress=False, unk_token="<unk>", special_tokens=["<unk>"]
    )
    tokenizer.train_from_iterator(TEXT, trainer)
    content = json.loads(tokenizer.to_str())
    content["model"]["vocab"] += [[f"<0x{byte:02X}>", -20.0] for byte in range(256)]
    content["model"]["byte_fallback"], content["added_tokens"] = True, []
    return saved(Tokenizer.from_str(json.dumps(content)), folder)


def added(folder: Path) -> Path:
    """Added tokens are split off a text first."""
    tokenizer = Tokenizer.from_file(str(pieces(folder) / "tokenizer.json"))
    tokenizer.add_tokens(
        [AddedToken(text, normalized=False) for text in ("model", "  ", "g ah", "日本", "\n\n")]
    )
    tokenizer.add_tokens([AddedToken("the", single_word=True, normalized=False)])
    tokenizer.save(str(folder / "tokenizer.json"))
    return folder


MAKERS = {
    "pieces": pieces, "others": others, "spaced": spaced, "characters": characters, "unigram": unigram,
    "added": added,
}  # fmt: skip


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
    """Random texts, cut anywhere: 1,000 joins over all pairs."""
    by, draw, joins = between(target, draft), random.Random(f"{target} {draft}"), 0
    ours, theirs = by.shared
    assert len(set(ours)) == len(ours) and len(set(theirs)) == len(theirs)
    assert all(by.target.of([a]) == by.draft.of([b]) for a, b in zip(ours, theirs, strict=True))
    while joins < 1000 / len(MAKERS) ** 2:
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
            assert all(0 <= token < 700 for token in found)
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


def test_an_added_run_of_spaces_is_spaces(tmp_path: Path) -> None:
    """Gemma's tokenizers have them for indents."""
    file = spaced(tmp_path / "gemma") / "tokenizer.json"
    tokenizer = Tokenizer.from_file(str(file))
    tokenizer.add_tokens([AddedToken("▁▁▁▁", normalized=False)])
    tokenizer.save(str(file))
    assert TokenBytes(read_tokenizer(file.parent)).bytes[tokenizer.get_vocab_size() - 1] == b" " * 4


def test_half_a_character_is_neither_said_nor_drafted_and_its_end_completes_it(between: Any) -> None:
    by, transcript = between("pieces", "characters"), between("pieces", "characters").transcript()
    whole = [t for byte in "日".encode() for t, name in by.target.bytes.items() if name == bytes([byte])]
    assert transcript.to_draft(whole[:2]) == [] and by.draft.of(transcript.to_draft(whole)) == "日".encode()
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


def test_the_bytes_of_other_scripts_do_not_make_a_draft_that_spells_guess_bytes(tmp_path: Path) -> None:
    target, draft = tmp_path / "target", characters(tmp_path / "draft")
    make_tokenizer(target, text=(USUAL * 9,), vocabulary=400)
    by, _ = translation(target, draft, None)
    assert by is not None
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
    by, _ = translation(target, draft, None)
    assert by is not None
    transcript, text = by.transcript(), "the small model guesses"
    read = transcript.to_draft(by.target.nearest(text))
    assert by.draft.of(read).decode().strip() == text
    drafted = by.target.of(transcript.to_target(by.draft.nearest("ahead and the large")))
    assert drafted.decode().strip() == "ahead and the large"
    back, _ = translation(draft, target, None)
    assert back is not None
    assert back.draft.of(back.transcript().to_draft(back.target.nearest(text))) == by.draft.of(read)


@pytest.mark.parametrize("name", [SPECIAL[1], "<s>"])
def test_what_begins_a_text_is_at_its_beginning_and_there_once(tmp_path: Path, name: str) -> None:
    target, draft = tmp_path / "target", spaced(tmp_path / "draft")
    make_tokenizer(target, text=MIXED, vocabulary=400, special=(SPECIAL[0], name))
    tokenizer = Tokenizer.from_file(str(draft / "tokenizer.json"))
    bos: Any = tokenizer.token_to_id("<s>")
    tokenizer.post_processor = processors.TemplateProcessing(single="<s> $A", special_tokens=[("<s>", bos)])  # type: ignore[assignment]
    tokenizer.save(str(draft / "tokenizer.json"))
    config = json.loads((target / "tokenizer_config.json").read_text()) | {"bos_token": name}
    (target / "tokenizer_config.json").write_text(json.dumps(config))
    by, _ = translation(target, draft, None)
    assert by is not None
    word, begin = list(by.target.nearest("model")), {each: i for i, each in by.target.special.items()}[name]
    read = [by.transcript().to_draft(tokens) for tokens in (word, [begin, *word])]
    assert read[0] == read[1] and read[0][0] == bos and bos not in read[0][1:]
    again = by.transcript().to_draft([begin, *word, begin, *word])
    assert again.count(bos) == (2 if name == "<s>" else 1), "in the middle only where it is the same token"


def test_a_draft_that_changes_texts_reads_what_it_makes_of_them(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), lower(tmp_path / "draft")
    by, _ = translation(target, draft, None)
    assert by is not None
    transcript = by.transcript()
    read = transcript.to_draft(by.target.nearest("The Model"))
    assert by.draft.of(read) == b"the model"
    assert by.target.of(transcript.to_target(by.draft.nearest(" checks"))) == b" checks"


def test_the_note_says_how_it_is_bridged_what_that_costs_and_what_fits_better(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), characters(tmp_path / "draft")
    found, (note,) = translation(target, draft, "org/fits")
    parts = ("another tokenizer", "% of a usual text's tokens", "waits for the text", "org/fits")
    assert found is not None and all(part in note for part in parts), note
    assert translation(target, target, None) == (None, ())


def test_a_kind_of_drafter_that_needs_the_targets_tokens_is_not_translated(tmp_path: Path) -> None:
    target, draft = pieces(tmp_path / "target"), others(tmp_path / "draft")
    (draft / "config.json").write_text(json.dumps({"model_type": "llama", "pard_token": 3}))
    with pytest.raises(BadChoice, match="read text differently.*of the kind pard cannot be translated"):
        translation(target, draft, None)
