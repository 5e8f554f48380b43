"""From the user's arguments to a pair."""

import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from models.errors import BadChoice, BadSource, MachineTrouble, ModelsError, UnknownPair
from models.hub.incomplete import partial_files
from models.pairs.catalogue import BUILTIN_PAIR, REAL_PAIR, all_pairs, find, fitting_draft, named_in
from models.pairs.installed import installed
from models.pairs.pair import Source, local_source, read_source
from models.pairs.published import all_published
from models.pairs.resolve import resolve
from models.paths import config_file, data_folder, hub_cache, own_pairs_file
from models.speed.fit import fit
from models.speed.machine import free_disk

OWN = {
    "name": "mine", "target": "org/target", "draft": "org/draft@v1", "quantization": "4-bit",
    "download_bytes": 5_000_000, "memory_bytes": 9_000_000, "family": "", "licence": "see its repository",
    "good_for": "a pair of your own", "verified": True, "own": True,
}  # fmt: skip


@pytest.mark.parametrize(
    "damage",
    [
        {"target": 5}, {"draft": None}, {"download_bytes": "x"}, {"download_bytes": -1},
        {"quantization": "q"}, {"memory_bytes": None}, {"memory_bytes": float("inf")},
        {"memory_bytes": 10**400}, {"verified": "yes"}, {"more": 1},
    ],
)  # fmt: skip
def test_a_damaged_pair_of_one_s_own_counts_as_not_there(home: Path, damage: dict[str, object]) -> None:
    own_pairs_file().parent.mkdir(parents=True)
    own_pairs_file().write_text(json.dumps({"pair": [OWN | {"name": "damaged"} | damage, OWN, 5]}))

    (own,) = (pair for pair in all_pairs() if pair.own)

    assert own.name == "mine" and own.draft == Source("org/draft", "v1")
    assert fit(own).memory_share > 0
    with pytest.raises(UnknownPair):
        resolve("damaged")


@pytest.mark.parametrize("text", ["", "[]", "5", '{"pair": 5}', '{"pair": null}', "[" * 100_000])
def test_a_damaged_file_of_one_s_own_pairs_counts_as_empty(home: Path, text: str) -> None:
    own_pairs_file().parent.mkdir(parents=True)
    own_pairs_file().write_text(text)

    assert not any(pair.own for pair in all_pairs())


def test_a_pair_is_found_by_its_name_and_nothing_named_is_the_builtin_one() -> None:
    assert resolve() == resolve("builtin") and resolve().target.is_local
    for pair in all_pairs():
        assert resolve(pair.name.upper()) == pair.spec


def test_a_source_names_its_revision_and_a_draft_replaces_the_pair_s_own(tmp_path: Path) -> None:
    mixed = resolve(target=str(tmp_path), draft="org/draft@v1")
    assert mixed.target == Source(str(tmp_path)) and mixed.target.is_local
    assert mixed.draft == Source("org/draft", "v1")
    spec = resolve(target="org/name@v2", draft="org/draft")
    assert spec.target == Source("org/name", "v2") and spec.draft == Source("org/draft")
    assert resolve("qwen3-8b", draft="none").draft is None
    assert resolve(target="org/name") == resolve(target="org/name", draft="none")
    assert resolve("qwen3-8b", draft="org/other").draft == Source("org/other")
    assert resolve(draft_head=512) == replace(resolve(), draft_head=512)
    assert resolve(draft_head=512).as_json()["draft_head"] == 512 and "draft_head" not in resolve().as_json()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "quen3-8b"}, "There is no pair 'quen3-8b'. Did you mean qwen3-8b"),
        ({"name": "%%%%"}, "There is no pair '%%%%'. Known pairs: builtin, "),
        ({"name": "org/name"}, "^There is no pair org/name. For a repository or folder: --target org/name$"),
        ({"name": "/my models/a"}, "There is no pair /my models/a. .* --target '/my models/a'"),
        ({"name": "qwen3-8b", "target": "org/name"}, "not both"),
        ({"draft_head": 0}, "The draft head is 0 tokens; give at least 1"),
        ({"target": "smollm2-135m"}, "smollm2-135m is the name of a pair. Give it without --target"),
    ],
)
def test_what_names_no_pair_is_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(BadChoice, match=message):
        resolve(**arguments)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("./nowhere", "There is no folder ./nowhere"),
        ("/no/where", "There is no folder /no/where"),
        ("~/surely/not/here", "There is no folder"),
        ("/no/where.gguf", "There is no file /no/where.gguf"),
        ("no/where.GGUF", "There is no file no/where.GGUF"),
        (__file__, "is a file; name a .gguf file"),
        ("gpt2", "neither a folder here nor a Hub repository"),
        ("", "neither a folder here nor a Hub repository"),
        ("org/na me", "neither a folder here nor a Hub repository"),
        ("org/name@", "org/name@ names no revision after the @"),
        ("org/name@/etc/x", "names no revision after the @"),
        ("org/name@refs/../../x", "names no revision after the @"),
        ("org/name@v\udcff", "names no revision after the @"),
        ("org/name/more@main", "There is no folder org/name/more@main"),
        ("org/..", "neither a folder here nor a Hub repository"),
        ("org-/name", "neither a folder here nor a Hub repository"),
        ("org/name-", "neither a folder here nor a Hub repository"),
        ("org/" + "x" * 5000, "neither a folder here nor a Hub repository"),
    ],
)
def test_what_is_no_source_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadSource, match=message):
        read_source(text)


@pytest.mark.skipif(sys.platform == "darwin", reason="all its names are UTF-8")
def test_a_folder_whose_name_is_not_utf_8_is_refused_as_model_and_as_drafter(tmp_path: Path) -> None:
    folder = tmp_path / "b\udcffd" / "inner"
    folder.mkdir(parents=True)

    for read in (read_source, local_source):
        with pytest.raises(
            BadSource, match=r"b\\udcffd/inner is not UTF-8, and MLX opens no others. Rename it"
        ):
            read(str(folder))


@pytest.mark.parametrize("host", ["https://huggingface.co", "http://hf.co"])
def test_the_address_of_a_page_on_the_hub_names_its_repository(host: str) -> None:
    for end in ("", "/", "/tree/main"):
        assert read_source(f"{host}/org/name{end}") == Source("org/name")
    assert read_source(f"{host}/org/name/tree/v1") == Source("org/name", "v1")
    assert resolve(target=f"{host}/org/name", draft=f"{host}/org/draft").sources[1] == Source("org/draft")
    for other in (
        f"{host}/org",
        f"{host}/org/name/discussions",
        f"{host}/org/na me",
        "https://example.org/a/b",
    ):
        with pytest.raises(BadSource):
            read_source(other)


def test_a_revision_may_be_a_pull_request() -> None:
    assert read_source("org/name@refs/pr/3") == Source("org/name", "refs/pr/3")


def test_a_home_of_a_user_that_is_not_known_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", "~nobody-of-this-name/x")

    for path in (data_folder, config_file):
        with pytest.raises(MachineTrouble, match="MLX_SPEC_HOME is '~nobody-of-this-name/x'"):
            path()


def test_a_home_may_be_named_from_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLX_SPEC_HOME", "home")
    assert config_file() == tmp_path / "home" / "config.toml"
    assert find(REAL_PAIR).target.is_local


def test_a_cache_of_a_user_that_is_not_known_is_an_empty_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same path as the Hub's library."""
    monkeypatch.setenv("HF_HOME", "~nobody-of-this-name/x")

    assert hub_cache() == Path("~nobody-of-this-name/x/hub")
    assert not installed(resolve("qwen3-8b"))


@contextmanager
def unseen(folder: Path) -> Iterator[None]:
    """A folder without read permission; root drops its rights, because it could read it."""
    folder.chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)
    try:
        yield
    finally:
        os.seteuid(user)
        folder.chmod(0o700)


def test_a_cache_that_may_not_be_seen_is_an_empty_one(home: Path) -> None:
    spec = resolve("qwen3-8b")
    hub_cache().mkdir(parents=True)

    with unseen(home / "hf"):
        assert not installed(spec)
        assert free_disk(hub_cache()) > 0
        assert not any(partial_files(source.repo) for source in spec.sources)


def test_a_draft_is_suggested_by_the_target_s_family() -> None:
    for pair in all_pairs():
        if not pair.target.is_local and pair.draft:
            assert fitting_draft(pair.target) == pair.draft.repo
    llama = fitting_draft(Source("x/Meta-Llama-3.3-70B-Instruct-4bit"))
    assert llama == "mlx-community/Llama-3.2-1B-Instruct-4bit"
    assert fitting_draft(Source("x/Llama-2-7b")) is None
    for itself in (
        "mlx-community/Qwen3-0.6B-4bit",
        "x/Qwen3-0.6B-bf16",
        "/x/SmolLM2-135M-Instruct.Q4_1.gguf",
    ):
        assert fitting_draft(Source(itself)) is None


def test_the_catalogue_owns_to_what_was_not_verified() -> None:
    for pair in all_pairs():
        assert pair.verified == (pair.name in (BUILTIN_PAIR, REAL_PAIR))
        assert pair.memory_bytes > pair.download_bytes >= 0


def test_control_characters_never_reach_a_message() -> None:
    assert str(ModelsError("a\x1b[2Jb\x07\n\u202ec")) == "a\\x1b[2Jb\\x07\n\\u202ec"


def test_every_repository_that_is_offered_stands_in_a_source() -> None:
    sources = {source for pair in all_pairs() if not pair.own for source in pair.spec.sources}
    assert [str(source) for source in sources if not source.is_local and not named_in(source)] == []
    assert [drafter.repo for drafter in all_published() if not drafter.source] == []
