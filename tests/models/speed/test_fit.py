"""Which pairs fit which machine, and why not."""

import json
import os
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from models.hub.incomplete import partial_file
from models.pairs.catalogue import all_pairs, find
from models.pairs.pair import Source
from models.paths import hub_cache
from models.speed.fit import fit, memory_needed
from models.speed.machine import Machine, this_machine

GB = 10**9


def mac(memory: float, disk: float = 1000) -> Machine:
    return Machine(int(memory * GB), int(disk * GB), has_metal=True)


def test_a_pair_fits_is_tight_or_does_not_fit_by_memory(home: Path) -> None:
    pair = find("qwen3-14b")
    needed = pair.memory_bytes / GB

    assert fit(pair, mac(needed * 1.3)).verdict == "fits"
    assert fit(pair, mac(needed * 1.05)).verdict == "tight"
    assert fit(pair, mac(needed * 0.95)).verdict == "does not fit"
    assert fit(pair, mac(8)).why == "needs about 10.1 GB of memory, 8.0 GB can be used here"
    assert fit(find("qwen3-32b"), mac(100, disk=5)).why == "downloads 18.8 GB, 5.0 GB of disk are free"


def test_what_an_interrupted_pull_left_needs_no_room_again(home: Path) -> None:
    pair = find("qwen3-32b")
    assert pair.draft is not None
    for source, size in ((pair.target, 14 * GB), (pair.draft, 200_000_000)):
        part = partial_file(source.repo, "a" * 64)
        part.parent.mkdir(parents=True)
        with part.open("wb") as file:
            file.truncate(size)

    assert fit(pair, mac(100, disk=4)).why == "downloads 4.6 GB, 4.0 GB of disk are free"
    assert fit(pair, mac(100, disk=6)).verdict == "fits"


def test_without_metal_weights_count_as_float32(home: Path) -> None:
    pair = find("qwen3-8b")
    without = Machine(16 * GB, 1000 * GB, has_metal=False)

    assert memory_needed(pair, without) > 5 * pair.memory_bytes
    assert "float32, without Metal" in fit(pair, without).why
    assert "float32, without Metal" in fit(pair, Machine(100 * GB, 1000 * GB, has_metal=False)).why


def test_folders_of_ones_own_count_as_float32_without_metal_too(home: Path) -> None:
    folders = {name: home / name for name in ("target", "draft")}
    for folder, size in zip(folders.values(), (4 * GB, 500_000_000), strict=True):
        folder.mkdir()
        (folder / "config.json").write_text('{"model_type": "qwen3"}')
        (folder / "tokenizer.json").write_text('{"model": {"vocab": {"a": 0}}}')
        header = json.dumps({"x": {"dtype": "U8", "shape": [size], "data_offsets": [0, size]}}).encode()
        with (folder / "model.safetensors").open("wb") as file:
            file.write(struct.pack("<Q", len(header)) + header)
            file.truncate(8 + len(header) + size)
    sources = {name: Source(str(folder)) for name, folder in folders.items()}
    own = replace(find("qwen3-8b"), own=True, download_bytes=0, memory_bytes=5 * GB, **sources)

    assert memory_needed(own, mac(16)) == 5 * GB
    slow = Machine(16 * GB, 0, has_metal=False)
    assert memory_needed(own, slow) == 4.5 * GB * 32 / 4.5 + 2 * 0.5 * GB
    file = home / "target.gguf"
    file.write_bytes(b"GGUF")
    os.truncate(file, 4 * GB)
    assert memory_needed(replace(own, target=Source(str(file)), quantization="GGUF"), slow) == 33 * GB


def test_the_builtin_pair_fits_everywhere_and_every_pair_gets_a_verdict_on_this_machine(home: Path) -> None:
    assert fit(find("builtin"), Machine(2 * GB, 0, has_metal=False)).verdict == "fits"
    assert 0 < this_machine().memory_bytes <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for pair in all_pairs():
        assert fit(pair).verdict in ("fits", "tight", "does not fit")


def test_the_disk_that_counts_is_that_of_the_hubs_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("models.speed.machine.free_disk", lambda folder: 7 * (folder == hub_cache()))
    assert this_machine().disk_bytes == 7


def test_predicting_and_asking_for_pairs_import_no_mlx(home: Path) -> None:
    script = (
        "import sys; from models.speed.fit import fit; from models.pairs.catalogue import all_pairs; "
        "from models.speed.roofline import expect; from models.speed.chips import find_chip; "
        "[expect(pair, find_chip('M5')) for pair in all_pairs()]; "
        "import models.hub.download, models.pairs.resolve; [fit(pair) for pair in all_pairs()]; "
        "sys.exit(sorted({'mlx', 'mlx_lm', 'numpy', 'huggingface_hub'} & set(sys.modules)) or 0)"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
