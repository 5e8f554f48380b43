"""Whole and damaged model folders, judged without loading weights."""

import hashlib
import json
import os
import re
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from shutil import copytree

import mlx.core as mx
import pytest

from models.errors import BadChoice, BrokenFiles
from models.pairs.config_json import check_config
from models.pairs.folder import INDEX, READ_AT_LOAD, check_drafter, check_folder, check_safetensors, holds
from models.pairs.installed import is_installed
from models.pairs.pair import Source
from tests.models.tiny_models import edit, make_model, make_tokenizer


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_model(tmp_path_factory.mktemp("made"))
    make_tokenizer(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    return copytree(made, tmp_path, dirs_exist_ok=True)


def test_a_whole_folder_passes_and_its_weights_are_counted(folder: Path) -> None:
    tensors = mx.load(str(folder / "model.safetensors"))
    assert isinstance(tensors, dict)
    assert check_folder(folder) == sum(tensor.nbytes for tensor in tensors.values())


def test_a_folder_of_gguf_files_is_refused_with_the_name_of_one(tmp_path: Path) -> None:
    for name in ("b.gguf", "a.gguf"):
        (tmp_path / name).touch()
    with pytest.raises(BadChoice, match=rf"it is not a model folder. Name a file in it: {tmp_path}/a.gguf$"):
        check_folder(tmp_path)


def test_every_kind_of_tensor_passes(tmp_path: Path) -> None:
    path = tmp_path / "model.safetensors"
    for dtype in (mx.bool_, mx.uint8, mx.int16, mx.uint32, mx.float16, mx.bfloat16, mx.complex64):
        mx.save_safetensors(str(path), {"a": mx.zeros((3, 5), dtype), "empty": mx.zeros((0, 4), dtype)})
        assert check_safetensors(path) == 15 * dtype.size
    header = b'{"a": {"dtype": "F4", "shape": [3, 4], "data_offsets": [0, 6]}}'
    path.write_bytes(len(header).to_bytes(8, "little") + header + bytes(6))
    assert check_safetensors(path) == 6


def link_to_nothing(path: Path) -> None:
    path.unlink()
    path.symlink_to(path.with_name("deleted"))


def make_unreadable(path: Path) -> None:
    path.unlink()
    path.mkdir()  # not by its mode, which root ignores


def name_a_header_too_large_to_read(path: Path) -> None:
    path.write_bytes((2**27).to_bytes(8, "little"))
    os.truncate(path, 2**28)


def change(changed: Callable[[bytes], bytes]) -> Callable[[Path], None]:
    def damage(path: Path) -> None:
        path.write_bytes(changed(path.read_bytes()))

    return damage


def put_text_where_numbers_belong(body: bytes) -> bytes:
    found = re.search(rb'"data_offsets":\[(\d+),(\d+)\]', body)
    assert found
    quoted = b'"data_offsets":["%s","%s"]' % found.groups()
    length = int.from_bytes(body[:8], "little") + len(quoted) - len(found[0])
    return length.to_bytes(8, "little") + body[8:].replace(found[0], quoted, 1)


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (change(lambda body: body[:-1]), "is damaged: it has"),
        (change(lambda body: body + b"\0"), "is damaged: it has"),
        (change(lambda body: b"<html>Sign in to continue</html>"), "is not a safetensors file"),
        (change(lambda body: b""), "is not a safetensors file"),
        (change(lambda body: (10**6).to_bytes(8, "little") + b"[" * 10**6), "its header cannot be read"),
        (change(lambda body: body.replace(b"[32]", b"[31]", 1)), "damaged header: tensor .* does not fill"),
        (change(put_text_where_numbers_belong), "unreadable header at tensor"),
        (name_a_header_too_large_to_read, "is not a safetensors file or is truncated"),
        (link_to_nothing, r"cannot be read \("),
        (make_unreadable, r"cannot be read \("),
    ],
    ids=["short", "long", "page", "empty", "nested", "shape", "text", "huge", "link", "folder"],
)
def test_damaged_weights_are_named(folder: Path, damage: Callable[[Path], None], message: str) -> None:
    damage(folder / "model.safetensors")

    with pytest.raises(BrokenFiles, match=f"model.safetensors in .* {message}"):
        check_folder(folder)
    assert not is_installed(Source(str(folder)))


def test_a_weight_file_that_the_index_names_is_missed(folder: Path) -> None:
    index = {"weight_map": {"a": "model.safetensors", "b": "model-00002-of-00002.safetensors"}}
    (folder / INDEX).write_text(json.dumps(index))

    with pytest.raises(
        BrokenFiles, match="1 of 2 weight files missing, first model-00002-of-00002.safetensors"
    ):
        check_folder(folder)


def test_an_index_of_odd_shape_is_damage(folder: Path) -> None:
    for weight_map in (["a"], "a", {"a": ["model.safetensors"]}, {"a": None}):
        (folder / INDEX).write_text(json.dumps({"weight_map": weight_map}))
        with pytest.raises(BrokenFiles, match=r"model\.safetensors\.index\.json in .* names no weight files"):
            check_folder(folder)


def test_a_missing_file_is_named(folder: Path) -> None:
    for name, message in (
        ("model.safetensors", r"holds no model\*.safetensors"),
        ("tokenizer.json", "holds no tokenizer.json, tokenizer.model or vocab.json"),
        ("config.json", "holds no config.json"),
    ):
        (folder / name).unlink()
        with pytest.raises(BadChoice, match=message):
            check_folder(folder)


@pytest.mark.parametrize("more", [(), ("config.json", "tokenizer.json")])
@pytest.mark.parametrize("check", [check_folder, check_drafter])
def test_an_adapter_is_said_to_be_one_and_how_to_merge_it(
    folder: Path, tmp_path: Path, check: Callable[[Path], object], more: tuple[str, ...]
) -> None:
    """As mlx-lm saves it, and as PEFT may, with the config.json of its model."""
    adapter = tmp_path / "my adapter"
    adapter.mkdir()
    for name in ("adapter_config.json", "adapters.safetensors"):
        (adapter / name).write_text("{}")
    for name in more:
        (adapter / name).write_bytes((folder / name).read_bytes())
    with pytest.raises(BadChoice, match=rf"adapter holds an adapter, .* --adapter-path '{adapter}'`"):
        check(adapter)

    (folder / "adapter_config.json").write_text("{}")  # left beside a whole model
    check(folder)


@pytest.mark.parametrize(
    ("odd", "message"),
    [
        ({"model_type": None}, "names no model_type"),
        ({"quantization": "x"}, 'quantization that is not an object: "x"'),
        ({"quantization": {"bits": 0}}, "weights of 0 bits"),
        ({"quantization": {"bits": "4"}}, 'weights of "4" bits'),
        ({"quantization": {"bits": True}}, "weights of true bits"),
        ({"quantization_config": True}, "quantization_config that is not an object: true"),
        ({"quantization_config": []}, r"quantization_config that is not an object: \[\]"),
        ({"text_config": [1]}, r"text_config that is not an object: \[1\]"),
        ({"rope_scaling": False}, "rope_scaling that is not an object: false"),
        ({"text_config": {"rope_scaling": "x"}}, 'rope_scaling that is not an object: "x"'),
        ({"rope_scaling": 2.0}, r"rope_scaling that is not an object: 2\.0"),
    ],
)
def test_a_configuration_of_odd_shape_is_refused(folder: Path, odd: dict[str, object], message: str) -> None:
    edit(folder / "config.json", **odd)
    with pytest.raises(BadChoice, match=message):
        check_folder(folder)


def test_a_file_of_the_cache_is_as_named_by_its_checksum_in_both_of_the_hub_s_ways(tmp_path: Path) -> None:
    body = b'{"a": 1}'
    git = tmp_path / hashlib.sha1(b"blob 8\0" + body).hexdigest()
    large = tmp_path / hashlib.sha256(body).hexdigest()
    for blob in (git, large):
        blob.write_bytes(body)
        assert holds(blob, blob.name)
        blob.write_bytes(body[:-1])
        assert not holds(blob, blob.name)
    (tmp_path / "tokenizer.json").write_bytes(body)
    assert not holds(tmp_path / "tokenizer.json", "tokenizer.json")


def test_a_tokenizer_without_tokens_is_none(folder: Path) -> None:
    (folder / "tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}}}')
    with pytest.raises(BrokenFiles, match=r"tokenizer\.json in .* holds no tokenizer\."):
        check_folder(folder)


@pytest.mark.parametrize("name", ["config.json", *READ_AT_LOAD])
def test_a_small_file_that_cannot_be_read_is_named_and_its_repair_is_seen(folder: Path, name: str) -> None:
    before = (folder / name).read_bytes() if (folder / name).exists() else b"{}"
    for damage in (b"", b"{", b"[]", b"\xff", b'{"a":' * 100_000):
        (folder / name).write_bytes(damage)
        with pytest.raises(BrokenFiles, match=rf"^{name} in .* cannot be read as JSON"):
            check_folder(folder)

    (folder / name).write_bytes(before)
    assert is_installed(Source(str(folder)))


@pytest.mark.parametrize(
    ("kind", "found", "refused"),
    [
        ("deepseek_v3", {"quant_method": "compressed-tensors", "format": "pack-quantized"}, ""),
        ("llama", {"quant_method": "compressed-tensors", "format": "pack-quantized"}, "pack-quantized"),
        ("llama", {"quant_method": "compressed-tensors", "format": "int-quantized"}, "int-quantized"),
        ("qwen3", {"quant_method": "fp8"}, "fp8"),
        ("qwen3", {"quant_method": "fp8", "scale_fmt": "ue8m0"}, ""),
        ("deepseek_v3", {"quant_method": "fp8"}, ""),
        ("gemma3_text", {"quant_method": "fp8"}, "fp8"),
        ("muse_spark", {"quant_method": "modelopt", "quant_algo": "NVFP4"}, ""),
        ("qwen3", {"quant_method": "modelopt", "quant_algo": "NVFP4"}, "modelopt"),
        ("muse_spark", {"quant_method": "modelopt", "quant_algo": "FP8"}, "modelopt in FP8"),
        ("llama", {"quant_method": "awq", "bits": 8}, "awq in 8 bits"),
        ("llama", {"quant_method": "awq", "bits": 4}, ""),
        ("llama", {"quant_method": "gptq", "bits": 4}, "gptq"),
        ("llama", {"load_in_8bit": True}, "a method without a name"),  # bitsandbytes of 2023
    ],
)
def test_the_methods_of_quantization_that_are_not_read_are_refused_unless_mlx_s_own_is_there_too(
    kind: str, found: dict[str, object], refused: str
) -> None:
    for settings in ({"quantization_config": found}, {"text_config": {"quantization_config": found}}):
        config = {"model_type": kind, **settings}
        check_config(config | {"quantization": {"bits": 4}}, "it")
        with pytest.raises(BadChoice, match=f"it is quantized by {refused}, ") if refused else nullcontext():
            check_config(config, "it")


def test_a_wrong_index_is_not_believed_where_the_numbers_of_the_files_tell_that_all_are_here(
    folder: Path,
) -> None:
    """As mlx-vlm left them: three files, and the index of the original's ten."""
    tensors: dict[str, mx.array] = mx.load(str(folder / "model.safetensors"))  # type: ignore[assignment]
    names = sorted(tensors)
    for place in range(3):
        part = {name: tensors[name] for name in names[place::3]}
        mx.save_safetensors(str(folder / f"model-0000{place + 1}-of-00003.safetensors"), part)
    (folder / "model.safetensors").unlink()
    (folder / INDEX).write_text('{"weight_map": {"a": "model-00001-of-00010.safetensors"}}')
    assert check_folder(folder) == sum(tensor.nbytes for tensor in tensors.values())

    (folder / "model-00002-of-00003.safetensors").unlink()
    with pytest.raises(BrokenFiles, match="1 of 1 weight files missing, first model-00001-of-00010"):
        check_folder(folder)
