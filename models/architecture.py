"""Does mlx-lm know a model's architecture? Asked before gigabytes are fetched."""

from importlib.util import find_spec
from typing import Any

from models.errors import UnsupportedFormat
from models.folder import check_config


def check_architecture(config: dict[str, Any], where: str) -> None:
    """Refuse what mlx-lm cannot build from `config.json`.

    Raises:
        UnsupportedFormat: `where` names the model in the message.
    """
    from mlx_lm.utils import MODEL_REMAPPING  # a second to import, wasted where the Hub refuses anyway

    check_config(config, where)
    kind = config["model_type"]
    module = str(MODEL_REMAPPING.get(kind, kind))
    if not module.isidentifier() or find_spec(f"mlx_lm.models.{module}") is None:
        raise UnsupportedFormat(
            f"{where} is of type '{kind}', which mlx-lm does not know. Choose another model."
        )
