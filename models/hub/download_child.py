"""The download process, started by `models.hub.download`: it sends how far it is several times a second.

The order is the point: trees and sizes first, then the disk, then the small files of both models, then
whether they belong together, and only then the gigabytes.
"""

import os
import threading
from collections.abc import Sequence
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path

from huggingface_hub import constants, hf_hub_download

from models.child import asked
from models.errors import BrokenFiles, MachineTrouble, ModelsError
from models.hub.hub_errors import explain
from models.hub.incomplete import sweep_stale
from models.hub.package import bytes_here, fetch_package
from models.hub.partial_file import fetch
from models.hub.progress import ModelProgress, Phase, Progress
from models.hub.repository import HubFile, Repository, ask_hub
from models.load.configuration import check_architecture
from models.load.tokenizers import read_tokenizer
from models.load.translation import small_files, translation
from models.pairs.catalogue import Package, fitting_draft, package_of
from models.pairs.drafter_kinds import DRAFT_MODELS
from models.pairs.folder import check_folder, check_target, folder_kind, read_json
from models.pairs.installed import find_folder, is_installed
from models.pairs.pair import Source
from models.paths import hub_cache
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from models.speed.machine import free_disk

_WORKERS = 4
_TICK_SECONDS = 0.2
_STEP_BYTES = 1 << 20


class Job:
    """The models of a pair on their way here."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = sources
        self.phase: Phase = "asking"
        self.notes: tuple[str, ...] = ()
        self.error: ModelsError | None = None
        self.repositories: dict[Source, Repository] = {}
        """Of the models that are not here."""
        self.packages: dict[Source, Package] = {}
        self.total: dict[Source, int] = {}
        self.at_start = 0

    def work(self, task: str) -> None:
        """Fetch and check; for the task `check` the small files alone. Keeps an error."""
        try:
            self._ask()
            if task == "pull":
                self._check_disk()
                self.phase = "weights"
                for package in self.packages.values():
                    fetch_package(package)
            self._check_fit()
            if task == "pull":
                self._fetch(weights=True)
                self.phase = "checking"
                for source, repository in self.repositories.items():
                    repository.finish()
                    sweep_stale([source.repo])
        except ModelsError as error:
            self.error = error
        except Exception as error:
            self.error = MachineTrouble(f"Downloading failed: {type(error).__name__}: {error}")

    def progress(self) -> Progress:
        here = self._bytes_here()
        models = (ModelProgress(s.repo, here.get(s, 0), self.total.get(s, 0)) for s in self.sources)
        came = max(sum(here.values()) - self.at_start, 0) if self.phase != "asking" else 0
        return Progress(self.phase, tuple(models), came, notes=self.notes)

    def _bytes_here(self) -> dict[Source, int]:
        packages = {source: bytes_here(package) for source, package in [*self.packages.items()]}
        return packages | {source: each.bytes_here() for source, each in [*self.repositories.items()]}

    def _ask(self) -> None:
        for source in self.sources:
            if is_installed(source):
                continue
            if package := package_of(source):
                self.packages[source], self.total[source] = package, package.bytes
                continue
            try:
                if source.is_local:
                    check_folder(Path(source.repo))
                repository = ask_hub(source)
                repository.name_in_cache()
                repository.discard_damaged()
            except Exception as error:
                raise explain(error, source) from error
            self.total[source] = sum(file.size for file in repository.files)
            self.repositories[source] = repository
        self.at_start = sum(self._bytes_here().values())

    def _check_disk(self) -> None:
        missing = sum(self.total.values()) - self.at_start
        cache = hub_cache()
        free = free_disk(cache)
        if missing and missing + DISK_MARGIN > free:
            raise MachineTrouble(
                f"The download takes {size_text(missing)}, and {size_text(free)} are free at {cache}. "
                f"Free {size_text(missing + DISK_MARGIN - free)}, or set HF_HOME to another disk."
            )

    def _check_fit(self) -> None:
        """On the small files alone: known architectures, and readable tokenizers that belong together."""
        self._fetch(weights=False)
        self.phase = "checking"
        for repository in self.repositories.values():
            repository.check_small()
        with ExitStack() as stack:
            found = [folder for source in self.sources if (folder := find_folder(source))]
            check_target(found[0])
            models = {
                s: f for s, f in zip(self.sources, found, strict=True) if folder_kind(f) in DRAFT_MODELS
            }
            folders = [stack.enter_context(small_files(folder)) for folder in models.values()]
            for source, folder in zip(models, folders, strict=True):
                check_architecture(read_json(folder / "config.json") or {}, str(source))
            if len(folders) == 2:
                self.notes = translation(folders[0], folders[1], fitting_draft(self.sources[0]))[1]
            try:  # A draft with the same files was compared unread.
                read_tokenizer(folders[0])
            except BrokenFiles as error:
                raise BrokenFiles(
                    f"{self.sources[0]} cannot be used: {error} Choose another model."
                ) from error

    def _fetch(self, *, weights: bool) -> None:
        """All missing files of one kind, some at a time; the first failure ends it."""
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
        fetch(repository, file)
        hf_hub_download(repository.source.repo, file.name, revision=repository.commit)
    except Exception as error:
        raise explain(error, repository.source) from error


def main() -> None:
    """Fetch, report, and end without waiting for transfers that are still running."""
    constants.DOWNLOAD_CHUNK_SIZE = _STEP_BYTES
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
