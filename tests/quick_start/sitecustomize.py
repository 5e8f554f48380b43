"""Python imports this first in each process that tests start, so that transformers starts quickly in it.

Importing that reads all of its models, twice, for a table of what they offer: half of what a process that
generates takes to start. The table is the same every time and is kept beside this file's bytecode.

Most processes never import transformers: what remembering takes is imported by those that do.
"""

import sys
from collections.abc import Callable
from types import ModuleType

TYPE_CHECKING = False
if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec


class _Finder:
    """Stands before the module that makes the table, to change it as soon as it is there."""

    @staticmethod
    def find_spec(name: str, *_: object) -> "ModuleSpec | None":
        if name != "transformers.utils.import_utils":
            return None
        from importlib.util import find_spec

        sys.meta_path.remove(_Finder)
        spec = find_spec(name)
        assert spec and spec.loader
        load = spec.loader.exec_module

        def load_changed(module: ModuleType) -> None:
            load(module)
            module.define_import_structure = _remembered(module.define_import_structure)  # type: ignore[attr-defined]

        spec.loader.exec_module = load_changed  # type: ignore[method-assign]
        return spec


def _remembered(make: Callable) -> Callable:
    import hashlib
    import os
    import pickle
    from pathlib import Path

    tables = Path(__file__).parent / "__pycache__"

    def table(place: str | Path, prefix: str | None = None) -> object:
        """`place` is a folder or a file in it; an installation of another version has other times."""
        key = repr((str(place), prefix, os.stat(place).st_mtime_ns))
        kept = tables / f"{hashlib.sha256(key.encode()).hexdigest()}.pickle"
        if not kept.exists():
            tables.mkdir(exist_ok=True)
            unfinished = kept.with_suffix(f".{os.getpid()}")
            unfinished.write_bytes(pickle.dumps(make(place, prefix)))
            unfinished.replace(kept)
        return pickle.loads(kept.read_bytes())

    return table


sys.meta_path.insert(0, _Finder)  # type: ignore[arg-type]
