"""The catalogue entries of the user's own pairs, whatever their files hold."""

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.errors import MachineTrouble
from models.pairs.catalogue import all_pairs, find
from models.pairs.installed import installed_bytes
from models.pairs.own_pairs import add_own, cache_bytes, describe_own, forget_own, known_pair, name_own
from models.pairs.pair import PairSpec, Source
from models.paths import own_pairs_file
from tests.models.hub.test_removal import place
from tests.models.tiny_models import make_model, make_tokenizer, model_config


def test_caches_take_what_the_config_says() -> None:
    assert cache_bytes(model_config()) == 2 * 2 * 4096 * 2 * 2 * 16
    assert cache_bytes({"text_config": model_config()}) == cache_bytes(model_config())
    assert cache_bytes(model_config(num_key_value_heads=1)) == cache_bytes(model_config()) / 2


def test_the_entry_has_the_sizes_and_the_family_of_its_models(home: Path) -> None:
    spec = PairSpec("mine", Source("org/Qwen3-8B"), Source("org/draft"))
    for number, source in enumerate(spec.sources, 1):
        place(source, f"{number}" * 40, home / f"{number}")
    pair, weights = describe_own(spec, [7, 0]), installed_bytes(spec.target) or 0
    assert pair.download_bytes == 7 + weights, "what is here was downloaded"
    assert pair.memory_bytes == 2 * (weights + cache_bytes(model_config())) + 300_000_000
    assert pair.family == find("qwen3-8b").family and pair.verified and pair.own


@pytest.mark.parametrize("name", ["num_hidden_layers", "num_attention_heads", "hidden_size"])
@pytest.mark.parametrize("value", [-1, 10**30, "2", None, True, float("nan")])
def test_numbers_that_no_model_has_count_as_unknown(name: str, value: Any) -> None:
    config = model_config(num_key_value_heads=None, head_dim=None)
    assert cache_bytes(config | {name: value}) == 0
    assert cache_bytes(config | {"num_key_value_heads": value, "head_dim": value}) == cache_bytes(config)


@pytest.mark.parametrize(
    ("entries", "wanted"),
    [
        ({}, "bf16"),
        ({"quantization": {"group_size": 64, "bits": 4}}, "4-bit"),
        ({"quantization_config": {"quant_method": "awq", "bits": 4}}, "4-bit"),
        ({"quantization_config": {"quant_method": "mxfp4"}}, "4-bit"),
        ({"quantization_config": {"quant_method": "fp8"}}, "8-bit"),
    ],
)
def test_the_format_is_the_target_s_by_whatever_method(
    home: Path, entries: dict[str, Any], wanted: str
) -> None:
    target = make_model(home / "target")
    make_tokenizer(target)
    (target / "config.json").write_text(json.dumps(model_config(**entries)))
    assert describe_own(PairSpec("mine", Source(str(target)), None), [0]).quantization == wanted


@pytest.mark.parametrize(
    ("name", "wanted"),
    [
        ("SmolLM2-135M-Instruct.Q4_1", "4-bit"),
        ("qwen3-8b-q8_0", "8-bit"),
        ("x-UD-IQ3_XXS", "3-bit"),
        ("gemma-3-270m-it-BF16", "bf16"),
        ("f16", "bf16"),
        ("Qwen3-8B", "GGUF"),
    ],
)
def test_the_format_of_a_gguf_file_is_that_of_its_name(home: Path, name: str, wanted: str) -> None:
    file = home / f"{name}.gguf"
    file.write_bytes(b"GGUF")
    assert describe_own(PairSpec("mine", Source(str(file)), None), [0]).quantization == wanted


def test_what_several_programs_add_at_once_is_all_kept(home: Path) -> None:
    first = replace(all_pairs()[1], own=True)
    pairs = [replace(first, name=f"mine-{i}", target=Source(f"org/{i}")) for i in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(add_own, pairs))

    assert {pair.name for pair in all_pairs() if pair.own} == {pair.name for pair in pairs}


def test_another_pair_of_a_target_that_has_one_gets_a_number(home: Path) -> None:
    names = []
    for draft in ("org/a", "org/b", "org/c"):
        spec = name_own(PairSpec("", Source("org/Mine"), Source(draft)))
        names.append(spec.name)
        add_own(replace(all_pairs()[1], name=spec.name, target=spec.target, draft=spec.draft, own=True))
    assert names == ["mine", "mine-2", "mine-3"]
    known = known_pair(Source("org/Mine"), Source("org/b"))
    assert known is not None and known.name == "mine-2"
    assert known_pair(Source("org/Mine"), None) is None


def test_of_two_programs_that_add_one_pair_or_one_name_the_second_gives_way(home: Path) -> None:
    first = replace(all_pairs()[1], name="mine", target=Source("org/Mine"), draft=Source("org/a"), own=True)
    second = replace(first, draft=Source("org/b"))
    added = [add_own(pair) for pair in (first, second, first)]

    assert [pair.name for pair in added] == ["mine", "mine-2", "mine"]
    assert [pair for pair in all_pairs() if pair.own] == added[:2]
    forget_own("mine")
    assert [pair for pair in all_pairs() if pair.own] == added[1:2]


@pytest.mark.parametrize("text", ["", "[]", '{"pair": null}'])
def test_a_damaged_list_of_one_s_own_pairs_is_not_overwritten(home: Path, text: str) -> None:
    own_pairs_file().parent.mkdir()
    own_pairs_file().write_text(text)

    with pytest.raises(MachineTrouble, match="Correct it, or move it away"):
        add_own(replace(all_pairs()[1], name="mine", target=Source("org/Mine")))

    assert own_pairs_file().read_text() == text


def test_what_a_newer_version_lists_stays_in_the_list(home: Path) -> None:
    newer = {"pair": [5, {"name": "mine", "new": True}]}
    own_pairs_file().parent.mkdir()
    own_pairs_file().write_text(json.dumps(newer))

    add_own(replace(all_pairs()[1], name="mine", target=Source("org/Mine"), own=True))
    assert find("mine").target == Source("org/Mine")
    forget_own("mine")

    assert json.loads(own_pairs_file().read_text()) == newer
