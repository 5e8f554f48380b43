"""The download process, started by `models.hub.download`: it sends its progress several times a second.

Cheap checks come first: file lists and sizes, disk space, the small files of both models, whether the models
fit each other; the weights come last. Of a draft that is the target's original repository, only the files
with multi-token prediction (MTP) layers are fetched (`models.pairs.original_mtp`).
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from huggingface_hub import constants, hf_hub_download, set_client_factory

from models.child import asked
from models.errors import BrokenFiles, MachineTrouble, ModelsError, NotInstalled
from models.hub.client import limited_client, seconds_to_wait
from models.hub.hub_errors import explain
from models.hub.incomplete import sweep_stale
from models.hub.package import bytes_here, fetch_package
from models.hub.partial_file import fetch
from models.hub.progress import Phase, Progress
from models.hub.repository import HubFile, Repository, ask_hub
from models.load.configuration import check_architecture
from models.load.tokenizers import read_tokenizer
from models.load.translation import small_files, translation
from models.pairs.catalogue import Package, fitting_draft, package_of
from models.pairs.config_json import check_config
from models.pairs.drafter_kinds import DRAFT_MODELS, check_made_for
from models.pairs.folder import INDEX, check_folder, check_index, check_target, folder_kind, read_config
from models.pairs.installed import find_folder, is_installed
from models.pairs.original_mtp import check_mtp, is_same_model, mtp_files
from models.pairs.pair import Source
from models.paths import cache_variable, hub_cache, packaged_folder
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from models.speed.machine import free_disk

_WORKERS = 4
_TICK_SECONDS = 0.2
_STEP_BYTES = 1 << 17
"""Written and counted at once: so little that a slow line, 30 kB/s for each file, does not seem stalled."""


class Job:
    """One pull or check of a pair's models."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.phase: Phase = "asking"
        self.notes: tuple[str, ...] = ()
        self.error: ModelsError | None = None
        self.repositories: dict[Source, Repository] = {}
        """Of the models not installed yet."""
        self.packages: dict[Source, Package] = {}
        self.total: dict[Source, int] = {}
        self.at_start = 0
        self.original: Source | None = None
        """The draft, if it is the target's original repository."""
        self.came: dict[Source, int] = {}
        """Bytes fetched of models whose weights are deleted after use."""

    def work(self, task: str) -> None:
        """Fetch and check; the task `check` fetches the small files only. An error is stored in `error`."""
        try:
            self._ask()
            if task == "pull":
                self._check_disk()
                self.phase = "weights"
                for package in self.packages.values():
                    fetch_package(package)
            self._fetch(weights=False)
            self.phase = "checking"
            try:
                self._check_fit()
            except BrokenFiles as error:
                unlike = [repository.discard_unlike() for repository in self.repositories.values()]
                then = "Pull again" if any(unlike) else "Choose others"
                raise BrokenFiles(f"These models cannot be used: {error} {then}.") from error
            if task == "pull":
                self._fetch(weights=True)
                self._find_original()  # a single weight file has no index: its own header decides
                self.phase = "checking"
                for source, repository in self.repositories.items():
                    repository.finish(check_mtp if source == self.original else check_folder)
                    sweep_stale(source.repo)
                if self.original:
                    self._take(self.original)
        except ModelsError as error:
            self.error = error
        except Exception as error:
            self.error = MachineTrouble(f"Downloading failed: {type(error).__name__}: {error}")

    def progress(self) -> Progress:
        here = sum(self._bytes_here().values())
        totals = tuple(self.total.get(source, 0) for source in self.sources)
        came = max(here - self.at_start, 0) if self.phase != "asking" else 0
        return Progress(self.phase, here, totals, came, wait_seconds=seconds_to_wait(), notes=self.notes)

    def _bytes_here(self) -> dict[Source, int]:
        packages = {source: bytes_here(package) for source, package in [*self.packages.items()]}
        came = {source: each.bytes_here() for source, each in [*self.repositories.items()]}
        return packages | came | self.came

    def _ask(self) -> None:
        for source in self.sources:
            if is_installed(source):
                continue
            if package := package_of(source):
                self.packages[source], self.total[source] = package, package.bytes
                continue
            try:
                if source.is_local and not find_folder(source):
                    raise NotInstalled(
                        f"{source} is not there. Put it back, or remove the pair that names it."
                    )
                if source.is_local:
                    check_folder(Path(source.repo))
                repository = ask_hub(source)
                repository.name_in_cache()
                repository.discard_damaged()
            except Exception as error:
                raise explain(error, source) from error
            self.repositories[source] = repository
        draft = self.repositories.get(self.sources[-1])
        if draft and any(file.name == INDEX for file in draft.files):
            self._find_original()
        for source, repository in self.repositories.items():
            self.total[source] = sum(file.size for file in repository.files)
        self.at_start = sum(self._bytes_here().values())

    def _find_original(self) -> None:
        """If the draft is the target's original repository, reduce it to the files with MTP layers."""
        target, draft = self.sources[0], self.sources[-1]
        if draft == target or not is_same_model(config := self._config(draft), self._config(target)):
            return
        check_config(config, str(draft))
        repository = self.repositories.get(draft)
        if repository:
            self._small_file(repository, INDEX)
        folder = repository.folder if repository else find_folder(draft)
        if folder and folder.is_dir() and (files := mtp_files(folder)):
            self.original = draft
            if repository:
                self.repositories[draft] = repository.only(files)

    def _config(self, source: Source) -> dict[str, Any]:
        """The model's config.json; empty if there is none, as for a GGUF file."""
        if repository := self.repositories.get(source):
            self._small_file(repository, "config.json")
        folder = repository.folder if repository else find_folder(source)
        return read_config(folder) if folder else {}

    def _small_file(self, repository: Repository, name: str) -> None:
        for file in repository.files:
            if file.name == name and not repository.is_here(file):
                _fetch_file(repository, file)

    def _take(self, original: Source) -> None:
        """Extract the MTP layers, then delete the weight files fetched for them."""
        from models.load.take_mtp import take_mtp  # MLX takes a moment to load

        folder = find_folder(original)
        assert folder is not None, "it was fetched"
        take_mtp(folder, self.sources[0], original)
        if repository := self.repositories.get(original):
            self.came[original] = repository.bytes_here()
            repository.discard_weights()

    def _check_disk(self) -> None:
        here = self._bytes_here()
        for place, variable, models in (
            (hub_cache(), cache_variable(), self.repositories),
            (packaged_folder(), "MLX_SPEC_HOME", self.packages),
        ):
            missing, free = sum(self.total[each] - here[each] for each in models), free_disk(place)
            if missing and missing + DISK_MARGIN > free:
                raise MachineTrouble(
                    f"The download takes {size_text(missing)}, and {size_text(free)} are free at {place}. "
                    f"Free {size_text(missing + DISK_MARGIN - free)}, or set {variable} to another disk."
                )

    def _check_fit(self) -> None:
        """On the small files: known architectures, readable tokenizers, and a draft that fits the target."""
        for source, repository in self.repositories.items():
            repository.check_small()
            if source != self.original:  # of it, not all weights are fetched
                check_index(repository.folder, {file.name for file in repository.files if file.is_weights})
        with ExitStack() as stack:
            found, folders = list(filter(None, map(find_folder, self.sources))), list[Path]()
            if gone := [source for source in self.sources if not find_folder(source)]:
                raise MachineTrouble(f"{gone[0]} was removed during the download. Pull again.")
            check_target(found[0], self.sources[0])
            for source, folder in zip(self.sources, found, strict=True):
                if folder_kind(folder) not in DRAFT_MODELS:
                    check_made_for(self._config(source), self._config(self.sources[0]), str(source))
                elif source != self.original:
                    folders.append(stack.enter_context(small_files(folder)))
                    check_architecture(read_config(folders[-1]), str(source))
            if len(folders) == 2:
                self.notes = translation(folders[0], folders[1], fitting_draft(self.sources[0]))[1]
            read_tokenizer(folders[0])  # translation() does not, where both have the same files

    def _fetch(self, *, weights: bool) -> None:
        """Fetch all missing files of one kind, `_WORKERS` at a time; the first failure is raised."""
        self.phase = "weights" if weights else "tokenizers"
        wanted = [
            (repository, file)
            for repository in self.repositories.values()
            for file in repository.files
            if file.is_weights is weights and not repository.is_here(file)
        ]
        pool = ThreadPoolExecutor(_WORKERS)
        running = [pool.submit(_fetch_file, *item) for item in wanted]
        finished, _ = wait(running, return_when=FIRST_EXCEPTION)
        pool.shutdown(wait=False, cancel_futures=True)
        for future in finished:
            future.result()


def _fetch_file(repository: Repository, file: HubFile) -> None:
    try:
        fetched = fetch(repository, file)
        linked = hf_hub_download(
            repository.source.repo, file.name, revision=repository.commit, cache_dir=hub_cache()
        )
        if fetched and not Path(linked).is_symlink():  # a copy: the disk has no links
            repository.blob(file).unlink(missing_ok=True)
    except Exception as error:
        raise explain(error, repository.source) from error


def main() -> None:
    """Fetch, report, and end without waiting for transfers that are still running."""
    constants.DOWNLOAD_CHUNK_SIZE = _STEP_BYTES
    set_client_factory(limited_client)
    (task, sources), send = asked()
    job = Job(sources)
    work = threading.Thread(target=job.work, args=(task,), daemon=True)
    work.start()
    while work.is_alive():
        send(job.progress())
        work.join(_TICK_SECONDS)
    send(job.error or replace(job.progress(), phase="done"))
    os._exit(0)


if __name__ == "__main__":
    main()
