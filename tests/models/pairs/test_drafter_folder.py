"""Folders of drafters: their kinds, and the targets they belong to."""

import json
from pathlib import Path
from typing import Any

import pytest

from models.errors import BadChoice, BadSource, BrokenFiles
from models.pairs.folder import check_drafter
from models.pairs.own_drafters import CHARACTERS, own_drafters, target_name
from models.pairs.pair import Source
from models.pairs.resolve import resolve
from models.paths import own_drafters_folder
from tests.models.drafter_folders import EAGLE, LAYER_SKIP, MEDUSA, make_drafter
from tests.models.tiny_models import edit, make_model, make_pair, make_tokenizer


@pytest.mark.parametrize(
    ("config", "kind"),
    [
        (EAGLE, "eagle"),
        ({"model_type": "llama", "draft_vocab_size": 300}, "eagle"),
        ({"architectures": ["Eagle3DraftModel"], "speculators_model_type": "eagle3"}, "eagle"),
        ({"architectures": ["Qwen3Eagle3Model"], "model_type": "qwen3"}, "eagle"),
        (MEDUSA, "medusa"),
        (LAYER_SKIP, "layer_skip"),
        ({"speculators_model_type": "peagle", "draft_vocab_size": 300}, "peagle"),
        ({"architectures": ["LlamaForCausalLMEagle3"], "ptd_token_id": 3}, "peagle"),
        ({"model_type": "llama", "draft_vocab_size": 300, "pard_token": 3}, "peagle"),
        ({"architectures": ["DFlashDraftModel"]}, "dflash"),
        ({"dflash_config": {"mask_token_id": 3}}, "dflash"),
        ({"architectures": ["DFlash2DraftModel"]}, "dflash2"),
        ({"architectures": ["Lfm2DSparkDraftModel"], "dflash_config": {"mask_token_id": 3}}, "dspark"),
        ({"model_type": "gemma4_assistant"}, "assistant"),
        ({"model_type": "gemma4_unified_assistant"}, "assistant"),
    ],
)
def test_the_kind_of_a_folder_is_read_from_its_config(
    config: dict[str, Any], kind: str, tmp_path: Path
) -> None:
    assert check_drafter(make_drafter(tmp_path / "any name", config)) == kind


def test_a_family_that_is_known_by_name_only_is_refused_by_it(tmp_path: Path) -> None:
    for config, family in (
        ({"speculators_model_type": "hydra", "draft_vocab_size": 300}, "hydra"),
        ({"speculators_model_type": "eagle", "architectures": ["EagleSpeculator"]}, "EAGLE-1"),
        ({"architectures": ["Gemma4Eagle3Model"], "model_type": "gemma4"}, "Gemma4Eagle3Model"),
    ):
        with pytest.raises(BadChoice, match=f"drafter of the family {family}, which cannot be loaded"):
            check_drafter(make_drafter(tmp_path / "x", config))


def test_an_ordinary_model_is_a_draft_model(tmp_path: Path) -> None:
    draft = make_pair(tmp_path)[1]
    assert check_drafter(draft) == "model"
    make_model(draft, pard_token=300)
    assert check_drafter(draft) == "pard"
    (draft / "tokenizer.json").unlink()
    with pytest.raises(BadSource, match="tells no kind of drafter"):
        check_drafter(draft)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (None, "holds no config.json; it is not a drafter. Name a folder that `mlx-spec train` made"),
        ({}, "tells no kind of drafter"),
        ({"architectures": 3, "model_type": "qwen3", "dflash_config": {}}, "tells no kind of drafter"),
        ({"architectures": "LlamaForCausalLMEagle3"}, "tells no kind of drafter"),
        ({"model_type": "layer_skip"}, "tells no kind of drafter"),
        ({"model_type": "layer_skip", "layers": 3}, "tells no kind of drafter"),
    ],
)
def test_what_is_no_drafter_is_refused_by_name(
    config: dict[str, Any] | None, message: str, tmp_path: Path
) -> None:
    if config is not None:
        (tmp_path / "config.json").write_text(json.dumps(config))
    with pytest.raises(BadSource, match=f"{tmp_path}.*{message}"):
        check_drafter(tmp_path)


def test_a_folder_that_is_not_there_or_not_whole_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadSource, match="There is no drafter folder .*nowhere. Name"):
        check_drafter(tmp_path / "nowhere")
    head = make_drafter(tmp_path / "head", EAGLE)
    (head / "config.json").write_text("{")
    with pytest.raises(BrokenFiles, match="config.json in .*head cannot be read as JSON"):
        check_drafter(head)
    make_drafter(head, EAGLE)
    weights = head / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1])
    with pytest.raises(BrokenFiles, match="model.safetensors in .*head is damaged"):
        check_drafter(head)
    weights.unlink()
    with pytest.raises(BadChoice, match="head holds no model.*safetensors"):
        check_drafter(head)


def test_a_gguf_file_is_a_draft_model_and_another_file_is_refused(tmp_path: Path) -> None:
    target, file = make_model(tmp_path / "target"), tmp_path / "draft.gguf"
    file.write_bytes(b"GGUF")
    assert resolve(target=str(target), drafters=[str(file)]).draft == Source(str(file))
    file.write_bytes(b"text")
    with pytest.raises(BrokenFiles, match="draft.gguf in .* is not a GGUF file"):
        check_drafter(file)


def test_drafters_are_named_beside_a_pair_or_in_the_place_of_its_draft(tmp_path: Path) -> None:
    target, draft = make_pair(tmp_path)
    eagle, medusa = make_drafter(tmp_path / "e", EAGLE), make_drafter(tmp_path / "m", MEDUSA)
    spec = resolve("builtin", drafters=[str(eagle), str(medusa), f"{tmp_path}/m/../e"])
    assert spec.drafters == (Source(str(eagle)), Source(str(medusa)))
    assert spec.draft == resolve("builtin").draft
    assert resolve("builtin", drafters=[str(draft)]).draft == Source(str(draft))
    alone = resolve(target=str(target), drafters=[str(eagle)])
    assert (alone.draft, alone.drafters) == (None, (Source(str(eagle)),))
    both = resolve(target=str(target), drafters=[str(draft), str(eagle)], draft_head=5)
    assert (both.draft, both.drafters, both.draft_head) == (Source(str(draft)), alone.drafters, 5)
    assert both.as_json()["drafters"] == [str(eagle)] and "drafters" not in resolve("builtin").as_json()


def test_drafters_that_contradict_each_other_are_refused(tmp_path: Path) -> None:
    target, draft = make_pair(tmp_path)
    one, two = make_drafter(tmp_path / "one", EAGLE), make_drafter(tmp_path / "two", EAGLE)
    with pytest.raises(BadSource, match=f"{one} and {two} are both of the kind eagle"):
        resolve("builtin", drafters=[str(one), str(two)])
    with pytest.raises(BadSource, match="--draft none and --drafter .*draft both name"):
        resolve(target=str(target), draft="none", drafters=[str(draft)])


def test_drafters_of_a_target_are_those_shipped_with_a_person_s_own_in_their_place(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("models.pairs.own_drafters.shipped_drafters_folder", lambda: home / "heads")
    target = resolve("smollm2-135m").target
    assert target_name(target) == "smollm2-135m" and own_drafters(target) == ({}, [])
    shipped = make_drafter(home / "heads" / "smollm2-135m", EAGLE, target="smollm2-135m")
    assert own_drafters(target) == ({"eagle": shipped}, [])
    mine = own_drafters_folder() / "smollm2-135m"
    medusa = make_drafter(mine / "medusa", MEDUSA, target=target.repo)
    (mine / ".eagle").mkdir()  # not done yet
    assert own_drafters(target) == ({"eagle": shipped, "medusa": medusa}, [])
    eagle = make_drafter(mine / "eagle", EAGLE)
    assert own_drafters(target)[0] == {"eagle": eagle, "medusa": medusa}
    assert own_drafters(resolve("qwen3-8b").target) == ({}, [])


def test_own_drafters_that_are_broken_or_of_another_target_are_left_out_and_told(home: Path) -> None:
    target = Source(str(make_model(home / "my.gguf")))
    assert target_name(target) == target_name(Source("/a/my.GGUF")) == "my"
    mine = own_drafters_folder() / "my"
    make_drafter(mine / "eagle", EAGLE, target="/another/my")
    (make_drafter(mine / "medusa", MEDUSA) / "model.safetensors").unlink()
    (mine / "notes.txt").write_text("x")
    skip = make_drafter(mine / "skip", LAYER_SKIP, target=target.repo)
    found, trouble = own_drafters(target)
    assert found == {"layer_skip": skip} and len(trouble) == 3
    assert "eagle is left out: it was made for /another/my." in trouble[0]
    assert trouble[0].endswith(f"use it with: --drafter {mine / 'eagle'}")
    assert "medusa is left out" in trouble[1] and "holds no model*.safetensors" in trouble[1]


def test_of_drafters_of_another_folder_nothing_is_told_if_that_is_there_too_or_they_are_named(
    home: Path,
) -> None:
    target, other = (Source(str(make_model(home / place / "my"))) for place in "ab")
    its = make_drafter(own_drafters_folder() / "my" / "eagle", EAGLE, target=other.repo)
    assert own_drafters(target) == ({}, []) and own_drafters(other) == ({"eagle": its}, [])
    (home / "b").rename(home / "c")
    reads = {"target": other.repo, "reads": CHARACTERS}
    make_tokenizer(characters := make_model(own_drafters_folder() / "my" / "characters"))
    edit(characters / "config.json", mlx_spec=reads)
    assert len(own_drafters(target)[1]) == 1
    assert own_drafters(target, [Source(str(its))]) == ({}, [])
