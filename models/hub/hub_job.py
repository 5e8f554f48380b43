"""Fetches the models of a pair from the Hub. Runs in the download process; talks through callbacks only.

The order is the point: trees and sizes first, then the disk, then the small files of both models, then
whether they belong together, and only then the gigabytes.
"""

from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock
from typing import Any

from huggingface_hub import hf_hub_download

from models.errors import BrokenFiles, DoesNotFit
from models.hub.hub_errors import explain
from models.hub.incomplete import partial_bytes, partial_files, sweep_stale
from models.hub.partial_file import fetch
from models.hub.repository import HubFile, Repository, ask_hub
from models.hub.snapshot import discard, discard_damaged, finish, is_here, name_in_cache, snapshot_folder
from models.load.architecture import check_architecture
from models.load.compatibility import check_folders
from models.load.tokenizer import read_tokenizer
from models.pairs.catalogue import fitting_draft
from models.pairs.folder import check_folder, read_json
from models.pairs.installed import find_folder, is_installed
from models.pairs.pair import Source
from models.paths import hub_cache
from models.size_text import size_text
from models.speed.fit import DISK_MARGIN
from models.speed.machine import free_disk

_WORKERS = 4


@dataclass
class Job:
    """The models of a pair on their way here. Counters are bytes per source; any thread may read them."""

    sources: tuple[Source, ...]
    phase: str = "asking"
    done: list[int] = field(default_factory=list)
    total: list[int] = field(default_factory=list)
    transferred: int = 0
    notes: tuple[str, ...] = ()
    _lock: Lock = field(default_factory=Lock)

    def run(self) -> None:
        """Fetch what is missing, and check it.

        Raises:
            ModelsError: what went wrong, in the user's words.
        """
        repositories = self._ask_all()
        self._check_disk()
        self._check_fit(repositories)
        self._fetch(repositories, weights=True, phase="weights")
        self.phase = "checking"
        for repository in repositories.values():
            finish(repository)
            # Parts of files that the repository no longer has.
            sweep_stale(partial_files([repository.source.repo]))

    def check(self) -> None:
        """Fetch the small files alone, and see whether the models can run and belong together.

        Raises:
            ModelsError: why not, in the user's words.
        """
        self._check_fit(self._ask_all())

    def _ask_all(self) -> dict[int, Repository]:
        """What the Hub has of the models that are not here, by their place in `sources`."""
        self.done, self.total = [0] * len(self.sources), [0] * len(self.sources)
        return {at: self._ask(source) for at, source in enumerate(self.sources) if not is_installed(source)}

    def _ask(self, source: Source) -> Repository:
        at = self.sources.index(source)
        try:
            if source.is_folder:
                check_folder(Path(source.repo))
            repository = ask_hub(source)
            name_in_cache(repository)
            discard_damaged(repository)
        except Exception as error:
            raise explain(error, source) from error
        self.total[at] = sum(file.size for file in repository.files)
        self.done[at] = sum(
            file.size if is_here(repository, file) else min(partial_bytes(source.repo, file.blob), file.size)
            for file in repository.files
        )
        return repository

    def _check_disk(self) -> None:
        missing = sum(self.total) - sum(self.done)
        cache = hub_cache()
        free = free_disk(cache)
        if missing and missing + DISK_MARGIN > free:
            raise DoesNotFit(
                f"The download takes {size_text(missing)}, and {size_text(free)} are free at {cache}. "
                f"Free {size_text(missing + DISK_MARGIN - free)}, or set HF_HOME to another disk."
            )

    def _check_fit(self, repositories: dict[int, Repository]) -> None:
        """On the small files alone: known architectures, and readable tokenizers that belong together."""
        self._fetch(repositories, weights=False, phase="tokenizers")
        self.phase = "checking"
        folders = [self._folder(at, repositories) for at in range(len(self.sources))]
        for source, folder in zip(self.sources, folders, strict=True):
            check_architecture(read_json(folder / "config.json") or {}, str(source))
        if len(folders) == 2:
            self.notes = check_folders(*folders, fitting=fitting_draft(self.sources[0]))
        self._check_tokenizer(folders[0])

    def _check_tokenizer(self, folder: Path) -> None:
        """Of the target; a draft with the same files was compared unread."""
        try:
            read_tokenizer(folder)
        except BrokenFiles as error:
            raise BrokenFiles(f"{self.sources[0]} cannot be used: {error} Choose another model.") from error

    def _folder(self, at: int, repositories: dict[int, Repository]) -> Path:
        if at in repositories:
            return snapshot_folder(repositories[at])
        folder = find_folder(self.sources[at])
        assert folder is not None, "an installed source has a folder"
        return folder

    def _fetch(self, repositories: dict[int, Repository], *, weights: bool, phase: str) -> None:
        """All missing files of one kind, some at a time; the first failure ends it."""
        self.phase = phase
        wanted = [
            (at, repository, file)
            for at, repository in repositories.items()
            for file in repository.files
            if file.is_weights is weights and not is_here(repository, file)
        ]
        pool = ThreadPoolExecutor(_WORKERS)
        running = [pool.submit(self._fetch_file, *item) for item in wanted]
        finished, _ = wait(running, return_when=FIRST_EXCEPTION)
        pool.shutdown(wait=False, cancel_futures=True)
        for future in finished:
            future.result()

    def _fetch_file(self, at: int, repository: Repository, file: HubFile) -> None:
        source = repository.source
        counter = _Counter(self, at, partial_bytes(source.repo, file.blob))
        try:
            if file.is_weights:
                fetch(repository, file, bar=counter.bar_class(), begins_at=counter.begin_at)
            path = hf_hub_download(
                source.repo, file.name, revision=repository.commit, tqdm_class=counter.bar_class()
            )
        except Exception as error:
            raise explain(error, source) from error
        if Path(path).stat().st_size != file.size:
            discard(Path(path))
            raise BrokenFiles(
                f"{file.name} of {source} arrived with a wrong size and was deleted. Pull again."
            )
        self.add(at, file.size - counter.seen, over_network=False)

    def add(self, at: int, count: int, *, over_network: bool = True) -> None:
        """More bytes of a source are here; fewer when a cut file starts over."""
        with self._lock:
            self.done[at] += count
            self.transferred += max(count, 0) if over_network else 0


class _Counter:
    """The bytes of one file, as the job counted them so far."""

    def __init__(self, job: Job, at: int, seen: int) -> None:
        self.seen = seen
        self._job, self._at = job, at

    def begin_at(self, here: int) -> None:
        """`here` bytes came in an earlier pull."""
        self._job.add(self._at, here - self.seen, over_network=False)
        self.seen = here

    def add(self, count: int) -> None:
        """More bytes came over the network."""
        self.seen += count
        self._job.add(self._at, count)

    def bar_class(self) -> Any:
        """What huggingface_hub takes for a progress bar: counts, shows nothing.

        Xet transfers open two bars; the one of bytes on the wire is left out.
        """
        counter = self

        class Bar:
            def __init__(self, *_: Any, desc: str = "", **__: Any) -> None:
                self.counts = not str(desc).endswith("downloading bytes")

            def update(self, count: float | None = 1) -> None:
                if self.counts:
                    counter.add(int(count or 0))

            def __enter__(self) -> "Bar":
                return self

            def __exit__(self, *_: object) -> None: ...

        return Bar
