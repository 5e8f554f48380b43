"""A pair whose draft has another tokenizer: it is noted, it drafts, and the text stays the same."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from app.cli import main
from mlx_spec import Options
from mlx_spec.drafters.foreign import ByText, ByVocabulary
from models.load.engine import load
from models.load.translation import USUAL
from models.pairs.catalogue import find
from models.pairs.own_pairs import add_own, describe_own
from models.pairs.pair import PairSpec, Source
from models.pairs.resolve import resolve
from tests.mlx_spec.tiny_models import tokens
from tests.models.load.tokenizer_kinds import characters, others, pieces
from tests.models.tiny_models import TEXT, make_model, make_tokenizer


@pytest.fixture
def target(tmp_path: Path) -> Path:
    pieces(tmp_path / "target")
    return make_model(tmp_path / "target", vocab_size=420)


@pytest.mark.parametrize(("kind", "temperature"), [("pieces", 0.8), ("characters", 0.0)])
def test_a_draft_of_another_tokenizer_drafts_and_the_text_stays(
    target: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str], kind: str, temperature: float
) -> None:
    draft = tmp_path / "draft"
    if kind == "pieces":
        make_tokenizer(draft, text=(*TEXT, "more words " * 30), vocabulary=400)
    else:
        characters(draft)
        make_tokenizer(target, text=(USUAL * 9,), vocabulary=400)
    make_model(draft, seed=1, num_hidden_layers=1, vocab_size=420)
    loaded = load(resolve(target=str(target), draft=str(draft)))
    assert loaded.engine.drafter_names == ["lookup", "foreign"] and "another tokenizer" in loaded.notes[0]
    drafting = loaded.engine.drafters[-1]
    assert isinstance(drafting, ByVocabulary if kind == "pieces" else ByText)
    ids = loaded.tokenizer.encode("the small model guesses")
    rounds = {}
    for drafter, length in (("none", 0), ("foreign", 4), ("auto", None)):
        options = Options(
            max_tokens=12, temperature=temperature, seed=3, drafter=drafter, draft_length=length
        )
        rounds[drafter] = list(loaded.engine.generate(ids, options))
    assert tokens(rounds["none"]) == tokens(rounds["foreign"]) == tokens(rounds["auto"])
    assert "foreign" in {read.drafter for read in rounds["foreign"]}
    given = ["generate", "--prompt", "x", "--target", str(target), "--drafter", str(draft)]
    assert main(given) == 2
    assert "has no drafter model. It has: lookup, foreign. Its draft has another" in capfd.readouterr().err


@pytest.mark.parametrize("kind", [characters, pieces, others])
def test_pairs_says_which_way_a_draft_is_bridged_and_what_that_costs(
    target: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    kind: Callable[[Path], Path],
) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    draft = make_model(kind(tmp_path / "draft"), num_hidden_layers=1)
    if kind is characters:
        make_tokenizer(target, text=(USUAL * 9,), vocabulary=400)
    make_model(target, num_hidden_layers=4, vocab_size=420)
    spec = PairSpec("mine", Source(str(target)), Source(str(draft)))
    add_own(describe_own(spec, [0, 0]))
    assert main(["pairs", "show", "mine"]) == 0
    said = capfd.readouterr().out
    assert main(["pairs", "show", "mine", "--json"]) == 0
    notes = json.loads(capfd.readouterr().out)["notes"]
    assert len(notes) == (kind is not pieces) and all(note in said for note in notes)
    assert "reads text as the target does" not in said, "none is known that does"
    assert kind is not characters or "it writes text, 2.3 of its tokens for one of the target's" in said
    assert kind is not others or "it guesses among those. Every draft waits for the text" in said
    (draft / "tokenizer.json").write_text("{}")
    add_own(replace(find("mine"), name="alone", draft=None))
    assert main(["pairs", "show", "mine"]) == main(["pairs", "show", "alone"]) == 0


def test_a_draft_head_is_for_the_targets_own_tokens(
    target: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    draft = make_model(characters(tmp_path / "draft"), num_hidden_layers=1)
    given = ["--target", str(target), "--draft", str(draft), "--draft-head", "100", "--prompt", "x"]
    assert main(["generate", *given]) == 2
    assert "--draft-head is for a draft of the target's own tokenizer" in capfd.readouterr().err
