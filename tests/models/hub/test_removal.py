"""Deleting pulled pairs from the Hub's cache, laid out as its library does."""

import fcntl
import os
from pathlib import Path

import pytest

from models.errors import MachineTrouble, NotInstalled
from models.hub.incomplete import partial_file
from models.hub.removal import plan_removal, removable_bytes, remove
from models.pairs.catalogue import find
from models.pairs.installed import find_folder, installed, repository_folder
from models.pairs.pair import PairSpec, Source
from models.pairs.resolve import resolve
from models.paths import hub_cache
from tests.models.tiny_models import edit, files_of, make_model, make_tokenizer

TARGET = PairSpec("tiny", Source("org/target"), None)


def place(source: Source, commit: str, made: Path) -> int:
    """Put a whole model into the cache as a pull does; returns its bytes."""
    make_model(made, seed=int(commit[0], 16))
    make_tokenizer(made)
    repository = repository_folder(source.repo)
    snapshot, blobs = repository / "snapshots" / commit, repository / "blobs"
    snapshot.mkdir(parents=True)
    blobs.mkdir(exist_ok=True)
    for name, body in files_of(made).items():
        blob = blobs / f"{commit[:8]}-{name}"
        blob.write_bytes(body)
        (snapshot / name).symlink_to(blob)
    if not source.is_pinned:
        branch = repository / "refs" / source.asked_revision
        branch.parent.mkdir(parents=True, exist_ok=True)
        branch.write_text(commit)
    return sum(len(body) for body in files_of(made).values())


def test_a_pair_is_deleted_with_what_a_cancelled_pull_left_and_the_freed_bytes_are_told(home: Path) -> None:
    spec = PairSpec("tiny", Source("org/target"), Source("org/draft"))
    size = place(spec.sources[0], "a" * 40, home / "a") + place(spec.sources[1], "b" * 40, home / "b")
    assert installed(spec)
    part = partial_file("org/target", "f" * 64)
    part.write_bytes(b"x" * 5000)

    assert removable_bytes(spec) == size + 5000
    removal = remove(spec)

    assert removal.freed_bytes == size + 5000 and removal.deleted == spec.sources and not removal.kept
    assert not installed(spec) and not repository_folder("org/target").exists()


def test_weights_of_a_pull_that_went_on_at_a_newer_commit_are_deleted_and_a_whole_revision_stays(
    home: Path,
) -> None:
    revisions = ("c" * 40, None)
    old, new = (PairSpec("tiny", Source("org/target", revision), None) for revision in revisions)
    place(old.target, "c" * 40, home / "c")
    size = place(new.target, "a" * 40, home / "a")
    cut_off = repository_folder("org/target") / "snapshots" / ("b" * 40)
    cut_off.mkdir()
    for name, blob in (("config.json", "aaaaaaaa-config.json"), ("model-1.safetensors", "shard")):
        (cut_off / name).symlink_to(cut_off.parents[1] / "blobs" / blob)
    (cut_off / "model-1.safetensors").resolve().write_bytes(b"x" * 5000)
    edit(
        cut_off / "model.safetensors.index.json",
        weight_map={"a": "model-1.safetensors", "b": "model-2.safetensors"},
    )

    size += 5000 + (cut_off / "model.safetensors.index.json").stat().st_size
    assert removable_bytes(new) == remove(new).freed_bytes == size
    assert not cut_off.exists() and not find_folder(new.target) and installed(old)
    assert {file.name[0] for file in (cut_off.parents[1] / "blobs").iterdir()} == {"c"}


def test_one_snapshot_under_two_names_is_deleted_once(home: Path) -> None:
    size = place(TARGET.target, "a" * 40, home / "a")
    assert remove(PairSpec("tiny", TARGET.target, Source("org/target", "a" * 40))).freed_bytes == size
    assert not repository_folder("org/target").exists()


def test_a_model_that_another_program_is_pulling_is_not_deleted(home: Path) -> None:
    place(TARGET.target, "a" * 40, home / "a")
    part = partial_file("org/target", "f" * 64)
    with part.open("wb") as arriving:
        fcntl.flock(arriving, fcntl.LOCK_EX)
        with pytest.raises(MachineTrouble, match="^org/target is being downloaded. Stop that download first"):
            remove(TARGET)
    assert installed(TARGET) and part.exists()
    remove(TARGET)
    assert not part.exists()


def test_a_pair_that_is_deleted_meanwhile_frees_nothing(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(TARGET.target, "a" * 40, home / "a")
    assert removable_bytes(TARGET)

    def deleted_before(link: Path) -> Path:
        link.unlink()
        return Path(os.readlink(link))

    monkeypatch.setattr(Path, "readlink", deleted_before)
    assert removable_bytes(TARGET) == 0


def test_of_two_repositories_at_one_commit_the_named_one_is_deleted(home: Path) -> None:
    one, two = (PairSpec("tiny", Source(repo), None) for repo in ("org/one", "org/two"))
    sizes = [place(spec.target, "a" * 40, home / spec.target.repo) for spec in (one, two)]

    assert remove(two).freed_bytes == sizes[1]
    assert installed(one) and not installed(two)


def test_another_revision_of_the_same_repository_stays_with_what_both_share(home: Path) -> None:
    revisions = (None, "refs/pr/1")
    spec, other = (PairSpec("tiny", Source("org/target", revision), None) for revision in revisions)
    size = place(spec.target, "a" * 40, home / "a")
    place(other.target, "b" * 40, home / "b")
    mine, theirs = (find_folder(pair.target) for pair in (spec, other))
    assert mine and theirs
    (theirs / "tokenizer.json").unlink()
    (theirs / "tokenizer.json").symlink_to((mine / "tokenizer.json").resolve())
    weights = (mine / "model.safetensors").resolve()
    weights.unlink()  # a broken link
    left = size - sum((theirs / name).stat().st_size for name in ("model.safetensors", "tokenizer.json"))

    of_another_program = partial_file("org/target", "c").with_name("c.incomplete")
    of_another_program.write_bytes(b"x")
    assert removable_bytes(spec) == remove(spec).freed_bytes == left
    assert of_another_program.exists(), "it may still be written"

    assert not mine.exists() and find_folder(spec.target) is None and installed(other)
    assert not (repository_folder("org/target") / "refs" / "main").exists(), (
        "the Hub's library calls that corrupt"
    )


def test_a_model_of_another_installed_pair_stays_and_is_named(home: Path) -> None:
    small, large = find("qwen3-4b").spec, find("qwen3-8b").spec
    assert small.draft is not None and small.draft == large.draft
    for at, source in enumerate((small.target, large.target, small.draft)):
        place(source, f"{at + 1}" * 40, home / f"{at}")

    for revision in ("main", "1" * 40):
        with pytest.raises(NotInstalled, match="is used by qwen3-4b"):
            remove(PairSpec("same", Source(small.target.repo, revision), None))

    removal = remove(large)

    assert removal.deleted == (large.target,)
    assert removal.kept == {small.draft: "used by qwen3-4b"}
    assert installed(small) and not installed(large)

    assert not remove(small).kept
    assert find_folder(small.draft) is None


def test_a_pair_that_was_cut_off_and_a_branch_that_leads_nowhere_are_removed(home: Path) -> None:
    spec = PairSpec("tiny", Source("org/target", "v1"), Source("org/draft"))
    place(spec.target, "a" * 40, home / "a")
    repository = repository_folder("org/target")
    (repository / "snapshots" / ("a" * 40) / "model.safetensors").unlink()
    (repository / "refs" / "main").write_text("b" * 40)
    assert not installed(spec)

    assert remove(spec).deleted == (spec.target,)
    assert not repository.exists()


def test_a_branch_without_a_commit_names_no_model_and_the_finders_own_files_do_not_matter(home: Path) -> None:
    spec, other = (PairSpec("tiny", Source("org/target", revision), None) for revision in (None, "v1"))
    place(other.target, "b" * 40, home / "b")
    repository = repository_folder("org/target")
    for damaged in (b"\xff", b""):
        (repository / "refs" / "main").write_bytes(damaged)
        assert find_folder(spec.target) is None
    with pytest.raises(NotInstalled):
        remove(spec)
    for folder in ("refs", "snapshots"):
        (repository / folder / ".DS_Store").write_bytes(b"\0\0\0\1Bud1\xff")

    assert remove(other).deleted == (other.target,)
    assert not repository.exists()


def test_a_repository_that_is_a_link_to_another_disk_is_removed_with_its_link(home: Path) -> None:
    size = place(TARGET.target, "a" * 40, home / "a")
    repository = repository_folder("org/target")
    repository.rename(home / "disk")
    repository.symlink_to(home / "disk")
    for link in (home / "disk" / "snapshots" / ("a" * 40)).iterdir():
        blob = link.readlink().name
        link.unlink()
        link.symlink_to(f"../../blobs/{blob}")
    assert installed(TARGET)

    assert remove(TARGET).freed_bytes == size
    assert not repository.is_symlink() and not (home / "disk").exists()


def test_a_model_that_could_not_be_deleted_is_reported(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place(TARGET.target, "a" * 40, home / "a")

    def refuse(self: Path, missing_ok: bool = False) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "unlink", refuse)
    with pytest.raises(MachineTrouble, match=r"tiny could not be deleted \(Permission denied\): .*blobs"):
        remove(TARGET)
    assert installed(TARGET)


def test_what_a_snapshot_only_links_to_elsewhere_is_left_alone(home: Path) -> None:
    size = place(TARGET.target, "a" * 40, home / "a")
    (home / "mine.txt").write_text("of the person's own")
    folder = find_folder(TARGET.target)
    assert folder is not None
    (folder / "README.md").symlink_to(home / "mine.txt")

    assert remove(TARGET).freed_bytes == size
    assert (home / "mine.txt").read_text() == "of the person's own" and not installed(TARGET)


def test_what_the_hubs_library_shares_among_repositories_is_deleted_with_the_last_that_uses_it(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    one, two = (PairSpec("tiny", Source(repo), None) for repo in ("org/one", "org/two"))
    size, _ = (place(spec.target, "a" * 40, home / spec.target.repo) for spec in (one, two))
    store = hub_cache() / "blobs" / "ab" / ("ab" * 32)
    store.parent.mkdir(parents=True)
    blobs = [repository_folder(s.target.repo) / "blobs" / "aaaaaaaa-model.safetensors" for s in (one, two)]
    for blob in blobs:
        blob.replace(store)
        blob.symlink_to("../../blobs/ab/" + store.name)
    weights = store.stat().st_size
    (hub_cache() / "models--org--one" / "snapshots" / ("c" * 40)).mkdir()  # the repository stays

    assert remove(one).freed_bytes == size - weights
    assert installed(two) and not blobs[0].is_symlink()

    def fails(file: Path, missing_ok: bool = False) -> None:
        if file == store:
            raise OSError(5, "Input/output error", str(file))
        honest(file, missing_ok)

    honest = Path.unlink
    assert removable_bytes(two) == size
    with monkeypatch.context() as patch, pytest.raises(MachineTrouble):
        patch.setattr(Path, "unlink", fails)
        remove(two)
    remove(two)
    assert not store.exists(), "what was left is still found"


def test_folders_are_never_deleted(home: Path) -> None:
    mine = make_model(home / "mine")
    spec = PairSpec("mixed", Source("org/target"), Source(str(mine)))
    place(spec.target, "a" * 40, home / "a")

    removal = remove(spec)

    assert removal.deleted == (spec.target,)
    assert removal.kept == {Source(str(mine)): "your own"}
    assert (mine / "model.safetensors").is_file()


def test_the_builtin_pair_is_never_deleted() -> None:
    assert removable_bytes(resolve("builtin")) == 0
    with pytest.raises(NotInstalled, match="Nothing of builtin can be removed: .* is part of the program"):
        plan_removal(resolve("builtin"))


def test_removing_what_is_not_here_is_refused(home: Path) -> None:
    assert removable_bytes(TARGET) == 0
    with pytest.raises(NotInstalled, match="Nothing of tiny is on this machine"):
        remove(TARGET)
