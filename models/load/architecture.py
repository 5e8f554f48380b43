"""Does mlx-lm know a model's architecture? Asked before gigabytes are fetched."""

from importlib.util import find_spec
from pathlib import Path
from typing import Any

from models.errors import UnsupportedFormat
from models.pairs.folder import check_config


def check_architecture(config: dict[str, Any], where: str) -> None:
    """Refuse what mlx-lm cannot build from `config.json`.

    Raises:
        UnsupportedFormat: `where` names the model in the message.
    """
    check_config(config, where)
    kind = config["model_type"]
    if not _is_module(kind) and not _is_module(_renamed(kind)):
        raise UnsupportedFormat(
            f"{where} is of type '{kind}', which mlx-lm does not know. Choose another model."
        )


def _is_module(kind: str) -> bool:
    """Whether mlx-lm has a file for the type; finding out by importing mlx-lm would take seconds."""
    spec = find_spec("mlx_lm")
    assert spec is not None and spec.submodule_search_locations, "mlx-lm is a dependency"
    folder = Path(spec.submodule_search_locations[0]) / "models"
    return kind.isidentifier() and (folder / f"{kind}.py").is_file()


def _renamed(kind: str) -> str:
    """The type under whose name mlx-lm has it."""
    from mlx_lm.utils import MODEL_REMAPPING

    return str(MODEL_REMAPPING.get(kind, kind))
