"""Drafters from folders: loaded for a target, chosen by kind, refused by name, or left out with a note."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from mlx_spec import Options
from mlx_spec.drafters import Drafter
from mlx_spec.errors import UnsupportedModel
from models.errors import BadChoice, BadSource, ModelsError, NotInstalled
from models.load import drafters
from models.load.engine import LoadedPair, load
from models.pairs import drafter_kinds
from models.pairs.pair import PairSpec, Source, read_source
from models.pairs.resolve import resolve
from models.paths import own_drafters_folder
from tests.models.drafter_folders import EAGLE, LAYER_SKIP, MEDUSA, Repeating, make_drafter
from tests.models.tiny_models import make_model, make_pair, make_tokenizer


@pytest.fixture
def pair(home: Path) -> tuple[Path, Path]:
    return make_pair(home)


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Drafters of three kinds are loaded."""
    for kind in ("eagle", "medusa", "layer_skip"):
        monkeypatch.setitem(drafters.LOADERS, kind, repeating(kind))


def repeating(kind: str, **facts: Any) -> Callable[..., Drafter]:
    return lambda folder, target, config: Repeating(kind, folder, **facts)


def names(loaded: LoadedPair) -> list[str]:
    return loaded.engine.drafter_names


def answer(loaded: LoadedPair, drafter: str) -> tuple[list[int], set[str]]:
    options = Options(max_tokens=24, draft_length=3, drafter=drafter)
    rounds = list(loaded.engine.generate(loaded.tokenizer.encode("the small model"), options))
    return [token for one in rounds for token in one.tokens], {one.drafter for one in rounds} - {"none"}


def spec_of(target: Path, *folders: Path) -> PairSpec:
    return resolve(target=str(target), drafters=[str(folder) for folder in folders])


@pytest.mark.usefixtures("loads")
def test_drafters_named_beside_a_pair_draft_and_change_no_word(pair: tuple[Path, Path]) -> None:
    folders = make_drafter(pair[0] / "e", EAGLE), make_drafter(pair[0] / "s", LAYER_SKIP)
    loaded = load(spec_of(pair[0], pair[1], *folders))
    assert names(loaded) == ["lookup", "model", "eagle", "layer_skip"] and not loaded.notes
    wanted, nobody = answer(loaded, "none")
    assert not nobody
    for drafter in ("eagle", "layer_skip", "model"):
        assert answer(loaded, drafter) == (wanted, {drafter})
    text, used = answer(loaded, "eagle+lookup")
    assert text == wanted and "eagle" in used and used <= {"eagle", "lookup"}


def test_a_head_in_the_place_of_the_draft_model_and_another_of_its_kind_are_refused(
    pair: tuple[Path, Path],
) -> None:
    first, second = make_drafter(pair[0] / "e", EAGLE), make_drafter(pair[0] / "f", EAGLE)
    with pytest.raises(BadSource, match="f and .*e are both of the kind eagle. Name one of them."):
        load(replace(spec_of(pair[0], second), draft=read_source(str(first))))


def test_every_kind_that_is_known_is_loaded() -> None:
    assert drafters.LOADERS.keys() == set(drafter_kinds.KINDS)


TROUBLES = [
    (UnsupportedModel("It reads 64 numbers, the target has 32."), "does not fit this target: It reads 64"),
    (BadChoice("It was made for another."), "It was made for another."),
    (ValueError("Received 3 parameters not in model"), "do not belong to its config.json"),
    (KeyError("fc.weight"), "KeyError: 'fc.weight'"),
]


@pytest.mark.parametrize(("error", "message"), TROUBLES, ids=lambda part: type(part).__name__)
def test_what_does_not_fit_is_refused_where_it_was_named_and_left_out_where_it_was_not(
    pair: tuple[Path, Path], error: Exception, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> Drafter:
        raise error

    monkeypatch.setitem(drafters.LOADERS, "eagle", fails)
    with pytest.raises(ModelsError, match=message):
        load(spec_of(pair[0], make_drafter(pair[0] / "e", EAGLE)))
    make_drafter(own_drafters_folder() / "target" / "eagle", EAGLE)
    loaded = load(resolve(target=str(pair[0]), draft="none"))
    assert "eagle" not in names(loaded) and message in loaded.notes[0]


def test_a_drafter_of_a_deeper_target_is_refused(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(drafters.LOADERS, "eagle", repeating("eagle", taps=(1, 2)))
    with pytest.raises(BadChoice, match="e reads layer 2, and the target has 2 layers"):
        load(spec_of(pair[0], make_drafter(pair[0] / "e", EAGLE)))


@pytest.mark.usefixtures("loads")
def test_a_target_s_own_drafters_take_part_and_a_named_one_takes_the_place_of_its_kind(
    pair: tuple[Path, Path], home: Path
) -> None:
    mine = own_drafters_folder() / "target"
    make_drafter(mine / "eagle", EAGLE)
    make_drafter(mine / "medusa", MEDUSA)
    named = make_drafter(home / "named", EAGLE)
    loaded = load(spec_of(pair[0], named))
    eagle = next(each for each in loaded.engine.drafters if isinstance(each, Repeating))
    assert eagle.folder == named and names(loaded)[-2:] == ["eagle", "medusa"]
    assert "medusa" not in names(load(resolve(target=str(pair[1]), draft="none")))
    moved = make_drafter(mine / "eagle", EAGLE, target="/was/here")
    assert "it was made for /was/here." in load(spec_of(pair[0], named)).notes[0]
    assert not load(spec_of(pair[0], moved)).notes, "it drafts: it was named"


def test_an_own_draft_model_drafts_where_the_pair_has_none(
    pair: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path / "Application Support"))
    own = make_model(own_drafters_folder() / "target" / "model", seed=3, num_hidden_layers=1)
    make_tokenizer(own)
    alone = load(resolve(target=str(pair[0]), draft="none"))
    assert "model" in names(alone)
    assert answer(alone, "model") == (answer(alone, "none")[0], {"model"})
    paired = load(resolve(target=str(pair[0]), draft=str(pair[1])))
    assert names(paired).count("model") == 1 and f"--drafter '{own}'" in paired.notes[0]
    assert not load(resolve(target=str(pair[0]), drafters=[str(own)])).notes


def test_the_command_that_pulls_a_draft_quotes_a_folder_with_a_space(pair: tuple[Path, Path]) -> None:
    target = pair[0].rename(pair[0].with_name("my target"))
    with pytest.raises(NotInstalled, match=rf"pull --target '{target}' --draft org/draft$"):
        load(PairSpec("a", Source(str(target)), Source("org/draft")))
