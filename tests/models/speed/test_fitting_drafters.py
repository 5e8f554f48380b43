"""Which drafters a target has, their sizes and expected gains."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from models.pairs.catalogue import find
from models.pairs.installed import repository_folder
from models.pairs.own_drafters import own_place
from models.pairs.pair import Source
from models.paths import own_drafters_folder, shipped_drafters_folder
from models.speed.chips import find_chip
from models.speed.fitting_drafters import FittingDrafter, fitting_drafters
from models.speed.roofline import expect

SHIPPED = shipped_drafters_folder() / "smollm2-135m"


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))


def trained(config: dict[str, object]) -> FittingDrafter:
    """The shipped head's weights as the user's own head, with this config."""
    folder = own_drafters_folder() / "smollm2-135m" / "eagle"
    folder.mkdir(parents=True)
    (folder / "model.safetensors").symlink_to(SHIPPED / "model.safetensors")
    (folder / "config.json").write_text(json.dumps(config))
    (drafter,) = fitting_drafters(find("smollm2-135m"), find_chip("M4 Max"))
    return drafter


def test_the_head_that_ships_is_expected_to_bring_what_the_roofline_says() -> None:
    (head,) = fitting_drafters(find("smollm2-135m"), find_chip("M4 Max"))
    assert (head.kind, head.source, head.here) == ("eagle", "ships with the program", True)
    assert head.gain == pytest.approx(980 / 403, abs=0.01) and head.accepted == 0.715
    (head,) = fitting_drafters(find("smollm2-135m"), None)
    assert head.gain is None and head.bytes == 10_537_984


def test_of_a_head_trained_here_without_a_measured_acceptance_nothing_is_expected() -> None:
    config = json.loads((SHIPPED / "config.json").read_text())
    del config["mlx_spec"]["acceptance"]
    head = trained(config)
    assert (head.source, head.gain, head.accepted) == ("trained here", None, None)


def test_a_draft_model_has_the_gain_of_its_pair_and_the_size_that_is_known() -> None:
    draft = fitting_drafters(find("qwen3-32b"), find_chip("M4 Max"))[0]
    assert (draft.kind, draft.source, draft.here) == ("model", "mlx-community/Qwen3-0.6B-4bit", False)
    assert draft.licence == "Apache-2.0"
    assert draft.gain is not None and draft.gain > 1.5
    assert draft.bytes == pytest.approx(335e6, rel=0.01)


def test_those_with_a_gain_come_first_then_those_without_a_prediction_then_those_that_bring_nothing() -> None:
    ranked = fitting_drafters(find("qwen3-8b"), find_chip("M4 Pro"))
    gains = [drafter.gain for drafter in ranked if drafter.gain is not None]
    assert gains == sorted(gains, reverse=True) and len(gains) >= 4
    assert [drafter.kind for drafter in ranked[len(gains) :]] == ["peagle", "pard"]
    assert ranked[-1].kind == "pard" and ranked[-1].why.startswith(
        "not predicted: we know no published acceptance"
    )
    for drafter in ranked[: len(gains)]:
        assert drafter.range and drafter.speed and drafter.range[0] < drafter.speed < drafter.range[1]
    nothing = fitting_drafters(find("qwen3-8b"), find_chip("M1"))
    assert nothing[0].gain is None and nothing[-1].gain == pytest.approx(1)
    assert nothing[-1].why.startswith("no gain") and " drafted per round" in ranked[0].why


def test_a_mixture_has_its_head_predicted_whole_and_what_nobody_published_says_so() -> None:
    head, block = fitting_drafters(find("gpt-oss-20b"), find_chip("M4 Max"))
    assert (head.kind, block.kind) == ("eagle", "dflash")
    assert head.gain and 1 < head.gain < 1.3 and head.range and head.range[0] < (head.speed or 0)
    # One layer, three taps, 64,000 output rows and an unused copy of the embeddings, two bytes each.
    layer = 2880 * (2 * 64 * 80 + 64 * 64 + 3 * 2880)
    rows = (3 * 2880 + 64_000 + 201_088) * 2880
    assert head.bytes == 2 * (layer + rows)
    assert block.bytes is None and "we know no published size or acceptance rate" in block.why


def pulled_block(repo: str, config: str = '{"architectures": ["DFlashDraftModel"]}') -> None:
    """A DFlash head or another in the Hub's cache, as large as the shipped head."""
    repository = repository_folder(repo)
    folder = repository / "snapshots" / "main"
    folder.mkdir(parents=True)
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("main")
    (folder / "config.json").write_text(config)
    (folder / "model.safetensors").symlink_to(SHIPPED / "model.safetensors")


def test_of_a_drafter_that_is_here_the_size_is_that_of_its_file() -> None:
    pulled_block(repo := "z-lab/gpt-oss-20b-DFlash")
    (block,) = (each for each in fitting_drafters(find("gpt-oss-20b"), None) if each.source == repo)
    assert block.bytes == 10_537_984


def test_a_head_in_the_place_of_a_draft_model_is_listed_once_by_its_kind_and_predicted_as_no_model() -> None:
    chip, published, unknown = find_chip("M4 Pro"), "z-lab/Qwen3-8B-DFlash-b16", "org/Qwen3-0.6B-head"
    for repo in (published, unknown):
        pulled_block(repo)
        pair = replace(find("qwen3-8b"), name="mine", draft=Source(repo), own=True)
        (block,) = (each for each in fitting_drafters(pair, chip) if each.source == repo)
        assert block.kind == "dflash" and block.here and (block.gain is not None) == (repo == published)
        expected = expect(pair, chip)
        assert expected and expected.length is None and expected.drafted == expected.plain
    assert block.why.startswith("not predicted: we know no published acceptance")


def test_a_pard_model_drafts_in_one_pass_and_is_not_predicted_as_one_that_takes_a_pass_per_token() -> None:
    chip, repo = find_chip("M4 Pro"), "org/PARD-Qwen3-0.6B"
    pulled_block(repo, '{"model_type": "qwen3", "pard_token": 5}')
    pair = replace(find("qwen3-8b"), name="mine", draft=Source(repo), own=True)
    (pard,) = (each for each in fitting_drafters(pair, chip) if each.source == repo)
    assert pard.kind == "pard" and pard.gain is None and "we know no published acceptance" in pard.why
    expected = expect(pair, chip)
    assert expected and expected.length is None


def test_a_draft_of_ones_own_is_not_said_to_be_named_elsewhere() -> None:
    own = replace(find("qwen3-8b"), name="mine", draft=Source("org/draft"), own=True)
    named = {each.source: each.named_in for each in fitting_drafters(own, None)}
    assert named["org/draft"] == "your own pair" and "Rapid-MLX" in named[str(find("qwen3-8b").draft)]


def test_without_a_chip_nothing_is_predicted_and_blocks_come_before_layers_and_heads() -> None:
    ranked = fitting_drafters(find("qwen3.8-27b"), None)
    assert [drafter.kind for drafter in ranked] == ["dspark", "dflash2", "mtp", "mtp"]
    assert all(drafter.gain is None and "no chip" in drafter.why for drafter in ranked)
    assert [drafter.licence for drafter in ranked[1:3]] == ["Apache-2.0", ""], "only where a source says one"
    assert all(drafter.named_in and not drafter.here for drafter in ranked)
    pulled_block(repo := "RedHatAI/Qwen3-8B-speculator.eagle3")
    eagles = [each.source for each in fitting_drafters(find("qwen3-8b"), None) if each.kind == "eagle"]
    assert eagles[0] == repo and len(eagles) > 1, "of a kind, those that are here come first"


def test_a_target_s_own_mtp_layer_is_offered_from_its_original_repository_until_it_is_here() -> None:
    pair, chip, repo = find("qwen3.6-27b"), find_chip("M4 Pro"), "Qwen/Qwen3.6-27B"
    layer = fitting_drafters(pair, chip)[0]
    assert (layer.kind, layer.source, layer.here, layer.licence) == ("mtp", repo, False, "Apache-2.0")
    # `fc` and one layer with an output gate, two bytes each.
    assert layer.bytes == 2 * 5120 * (2 * 5120 + (3 * 24 + 2 * 4) * 256 + 3 * 17408)
    assert layer.gain and layer.gain > 1.5 and layer.why.endswith("downloaded, whose size is not known")

    pulled_block(repo)  # the original itself drafts nothing
    assert not fitting_drafters(pair, chip)[0].here
    folder = own_place(pair.target, "mtp")
    folder.mkdir(parents=True)
    (folder / "config.json").write_text(json.dumps({"model_type": "qwen3_5_mtp", "mlx_spec": {"from": repo}}))
    (folder / "model.safetensors").symlink_to(SHIPPED / "model.safetensors")
    taken = fitting_drafters(pair, chip)
    assert [each.source for each in taken].count(repo) == 1, "listed once"
    assert (taken[0].source, taken[0].here, taken[0].bytes) == (repo, True, 10_537_984)
    assert taken[0].why.endswith("(Blaizzy/mlx-vlm#1167)")


def test_an_acceptance_of_an_unpublished_temperature_names_none() -> None:
    (layer,) = (
        d for d in fitting_drafters(find("qwen3.5-9b"), find_chip("M4")) if d.source == "Qwen/Qwen3.5-9B"
    )
    assert "accepted on unnamed prompts (raullenchai/Rapid-MLX#2175)" in layer.why
