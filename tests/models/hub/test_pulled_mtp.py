"""MTP layers are extracted from the original repository, of which only the files with them are pulled."""

import json
import re
from pathlib import Path
from typing import Any

import mlx.core as mx
import mlx.nn as nn
import pytest
from mlx.utils import tree_flatten
from mlx_lm.models import deepseek_v3, qwen3_5

from app.cli import main
from models.errors import BadChoice, BadSource, BrokenFiles, MachineTrouble, NotInstalled
from models.hub.download import check
from models.hub.removal import removable_bytes, remove
from models.load.engine import load
from models.load.take_mtp import take_mtp
from models.pairs.folder import read_config
from models.pairs.installed import draft_kind, find_folder, installed, repository_folder
from models.pairs.original_mtp import is_original, mtp_files, taken_from
from models.pairs.own_drafters import own_place
from models.pairs.own_pairs import describe_own
from models.pairs.pair import PairSpec, Source
from models.speed.fitting_drafters import fitting_drafters
from tests.mlx_spec.model_types import configuration
from tests.mlx_spec.tiny_models import settled
from tests.models.hub.pulling import check_drafts, last
from tests.models.hub_server import HostedModel, HubServer
from tests.models.load.test_deepseek_mtp import KIND, eight_bits
from tests.models.load.test_mtp import apart, head_for, original
from tests.models.tiny_models import files_of, make_tokenizer

pytestmark = pytest.mark.usefixtures("quick_tokenizers")
SPEC = PairSpec("original", Source("org/target"), Source("org/original"))
PAIR = ["--target", "org/target", "--draft", "org/original"]
FIRST, SECOND, THIRD = (f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3))


def qwen() -> tuple[nn.Module, dict[str, Any]]:
    config = configuration("qwen3_5")
    config["text_config"] |= {"vocab_size": 384, "max_position_embeddings": 512}
    return settled(qwen3_5.Model(qwen3_5.ModelArgs.from_dict(config)), 1), config


def latent() -> tuple[nn.Module, dict[str, Any]]:
    more = {"n_routed_experts": 4, "n_shared_experts": 1, "vocab_size": 384}
    config = configuration(KIND) | more | {"num_nextn_predict_layers": 1}
    return settled(deepseek_v3.Model(deepseek_v3.ModelArgs.from_dict(config)), 1), config


def host(hub: HubServer, home: Path, kind: str) -> dict[str, mx.array]:
    """A target in mlx-lm's format, and its original in three files, the first without an MTP layer."""
    model, config = qwen() if kind == "qwen3_5" else latent()
    weights: dict[str, mx.array] = dict(tree_flatten(head_for(model).parameters()))  # type: ignore[arg-type]
    found = original(weights, kind) if kind == "qwen3_5" else eight_bits(apart(weights), kind)
    behind = f"model.layers.{config.get('num_hidden_layers', 2)}."
    found = {re.sub(r"layers\.(91|3)\.", "layers.0.", name): x for name, x in found.items()}
    found = {name.replace("model.layers.92.", behind): x for name, x in found.items()}
    own = ("mtp.", behind)
    copied = (f"{behind}embed_tokens", f"{behind}shared_head.head")
    copies = {name: x for name, x in found.items() if name.startswith(copied) or not name.startswith(own)}
    mtp = {name: x for name, x in found.items() if name not in copies}
    names = sorted(mtp)
    files = {
        FIRST: copies,
        SECOND: {name: mtp[name] for name in names[::2]} | {"model.norm.weight": mx.ones(32)},
        THIRD: {name: mtp[name] for name in names[1::2]},
    }
    for folder in (home / "converted", home / "whole"):
        make_tokenizer(folder)
        (folder / "config.json").write_text(json.dumps(config))
    save(home / "converted" / "model.safetensors", dict(tree_flatten(model.parameters())))  # type: ignore[arg-type]
    for name, part in files.items():
        save(home / "whole" / name, part)
    places = {tensor: name for name, part in files.items() for tensor in part}
    index = home / "whole" / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": places}))
    hub.models["org/target"] = HostedModel(files_of(home / "converted"))
    hub.models["org/original"] = HostedModel(files_of(home / "whole"))
    return mtp


def save(file: Path, weights: dict[str, mx.array]) -> None:
    mx.save_safetensors(str(file), weights)


@pytest.mark.parametrize("kind", ["qwen3_5", KIND])
def test_only_the_files_of_the_layers_are_fetched_and_they_draft_named_or_not(
    hub: HubServer, home: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    mtp = host(hub, home, kind)
    assert main(["pull", *PAIR]) == 0
    assert sorted(n for n in hub.downloads() if "of-00003" in n) == [SECOND, THIRD]
    taken = taken_from(SPEC.target, Source("org/original"))
    assert taken is not None
    kept: dict[str, mx.array] = mx.load(str(taken / "model.safetensors"))  # type: ignore[assignment]
    assert kept.keys() == mtp.keys()
    folder = find_folder(Source("org/original"))
    assert folder and not list(folder.glob("*.safetensors")), "their room is given back"
    assert installed(SPEC)
    capfd.readouterr()
    assert main(["pull", *PAIR]) == 0
    assert "nothing had to be downloaded" in capfd.readouterr().err
    check_drafts(SPEC, "mtp")
    assert "mtp" in load(PairSpec("unnamed", SPEC.target, None)).engine.drafter_names
    found = fitting_drafters(describe_own(SPEC, [1000, 2000]), None)
    assert [(each.kind, each.source, each.here) for each in found] == [("mtp", "org/original", True)]
    assert taken_from(SPEC.target, Source("org/original", "v2")) is None
    (taken / "model.safetensors").write_bytes(b"damaged")
    assert taken_from(SPEC.target, Source("org/original")) is None


def test_files_of_further_layers_which_are_not_read_are_not_fetched(tmp_path: Path) -> None:
    own = ["mtp.fc.weight", "mtp.layers.0.input_layernorm.weight", "model.layers.2.eh_proj.weight"]
    others = ["model.layers.1.mlp.up_proj.weight", "model.layers.2.embed_tokens.weight"]
    further = ["language_model.mtp.layers.1.input_layernorm.weight", "model.layers.3.eh_proj.weight"]
    files = {name: f"{name}.safetensors" for name in (*own, *others, *further)}
    (tmp_path / "config.json").write_text(json.dumps({"num_hidden_layers": 2}))
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps({"weight_map": files}))
    assert mtp_files(tmp_path) == {files[name]: [name] for name in own}


def test_an_original_has_the_sizes_of_its_target_and_is_not_quantized(hub: HubServer, home: Path) -> None:
    host(hub, home, "qwen3_5")
    whole, target = home / "whole", home / "converted"
    assert is_original(whole, target)
    config = read_config(whole)
    for change in ({"quantization": {"bits": 4}}, {"text_config": config["text_config"] | {"vocab_size": 9}}):
        (whole / "config.json").write_text(json.dumps(config | change))
        assert not is_original(whole, target)


def test_an_original_in_numbers_that_are_not_read_is_refused_before_its_weights(
    hub: HubServer, home: Path
) -> None:
    host(hub, home, "qwen3_5")
    config = json.loads((home / "whole" / "config.json").read_text())
    eight = {"quantization_config": {"quant_method": "fp8", "weight_block_size": [128, 128]}}
    hub.models["org/original"].files["config.json"] = json.dumps(config | eight).encode()
    with pytest.raises(BadChoice, match="org/original is quantized by fp8, .* or the unquantized original"):
        last(SPEC)
    assert not [name for name in hub.downloads() if name.endswith(".safetensors")]


def test_what_came_of_a_cut_download_is_kept_and_a_damaged_file_is_named(hub: HubServer, home: Path) -> None:
    host(hub, home, "qwen3_5")
    body = hub.models["org/original"].files[THIRD]
    hub.models["org/original"].files[THIRD] = body[:-8]
    with pytest.raises(BrokenFiles, match=f"{THIRD} of org/original is damaged on the Hub itself and was"):
        last(SPEC)
    assert not installed(SPEC)
    with pytest.raises(NotInstalled, match="not taken out yet. Do that with: mlx-spec pull"):
        load(SPEC)
    hub.models["org/original"].files[THIRD] = body
    hub.requests.clear()
    assert last(SPEC).phase == "done" and installed(SPEC)
    assert [n for n in hub.downloads() if "of-00003" in n] == [THIRD]
    remove(SPEC)
    del hub.models["org/original"].files[THIRD]
    with pytest.raises(BrokenFiles, match=f"org/original is incomplete: .* lacks {THIRD}, .* Choose another"):
        last(SPEC)


def test_an_original_may_be_larger_than_its_conversion_in_a_pair_of_one_s_own(
    hub: HubServer, home: Path
) -> None:
    host(hub, home, "qwen3_5")
    list(check(SPEC))
    assert describe_own(SPEC, [1000, 2000]).draft == Source("org/original")
    assert draft_kind(SPEC) == "mtp"
    with pytest.raises(BadSource, match="is not smaller than the target"):
        describe_own(PairSpec("itself", SPEC.target, SPEC.target), [2000])


def test_what_a_stopped_extraction_left_is_gone_after_the_next(hub: HubServer, home: Path) -> None:
    host(hub, home, "qwen3_5")
    left = own_place(SPEC.target, "mtp").with_name(".mtp.new")
    left.mkdir(parents=True)
    (left / "half.safetensors").write_bytes(b"half")
    assert last(SPEC).phase == "done" and installed(SPEC)
    found = [str(each.relative_to(left.parent)) for each in left.parent.rglob("*")]
    assert sorted(found) == ["mtp", "mtp/config.json", "mtp/model.safetensors"]


def test_where_the_layers_cannot_be_written_the_place_and_the_reason_are_told(
    hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    host(hub, home, "qwen3_5")
    place = own_place(SPEC.target, "mtp")
    place.parent.parent.parent.mkdir(parents=True)
    place.parent.parent.write_text("a file")
    with pytest.raises(MachineTrouble, match=f"org/original cannot be written to {place}: .*Not a directory"):
        last(SPEC)
    place.parent.parent.unlink()

    def full(*_: object) -> None:
        raise RuntimeError("[write] Unable to write 1577 bytes to file.")

    with monkeypatch.context() as patch, pytest.raises(MachineTrouble, match="the disk is full. Make room"):
        patch.setattr(mx, "save_safetensors", full)
        take_mtp(home / "whole", SPEC.target, Source("org/original"))
    assert last(SPEC).phase == "done" and installed(SPEC)


def test_the_layers_are_removed_with_their_original_and_counted(hub: HubServer, home: Path) -> None:
    host(hub, home, "qwen3_5")
    last(SPEC)
    layers = own_place(SPEC.target, "mtp")
    size = sum(file.stat().st_size for file in layers.iterdir())
    files = [f for s in SPEC.sources for f in repository_folder(s.repo).glob("blobs/*")]
    assert removable_bytes(SPEC) == size + sum(file.stat().st_size for file in files)

    remove(SPEC)

    assert not layers.exists()


def test_an_original_of_one_file_gives_its_layers_too(hub: HubServer, home: Path) -> None:
    mtp = host(hub, home, "qwen3_5")
    files = hub.models["org/original"].files
    one = home / "one.safetensors"
    save(one, mtp)
    for name in (FIRST, SECOND, THIRD, "model.safetensors.index.json"):
        del files[name]
    files["model.safetensors"] = one.read_bytes()
    end = last(SPEC)
    assert end.phase == "done" and installed(SPEC) and end.done_bytes == end.total_bytes
    assert "mtp" in load(SPEC).engine.drafter_names


def test_of_an_original_that_is_here_the_layers_are_taken_without_a_download(
    hub: HubServer, home: Path
) -> None:
    host(hub, home, "qwen3_5")
    whole = PairSpec("local", Source("org/target"), Source(str(home / "whole")))
    last(PairSpec("target", Source("org/target"), None))
    assert not installed(whole)
    with pytest.raises(NotInstalled, match="is the target's original, of which only the layers"):
        load(whole)
    hub.requests.clear()
    assert last(whole).phase == "done" and installed(whole)
    assert not hub.downloads() and (home / "whole" / SECOND).is_file(), "what is a person's own stays"
    assert "mtp" in load(whole).engine.drafter_names


def test_a_conversion_without_the_layers_is_an_ordinary_draft(hub: HubServer, home: Path) -> None:
    """Its config.json still names the MTP layers."""
    host(hub, home, "qwen3_5")
    hub.models["org/original"] = hub.models["org/target"]
    assert last(SPEC).phase == "done" and installed(SPEC)
    assert "model" in load(SPEC).engine.drafter_names
