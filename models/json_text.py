"""Reading JSON that anybody may have written."""

import json
from typing import Any


def parse(text: str | bytes) -> Any:
    """The value of a JSON text.

    Raises:
        ValueError: it is no JSON, or its brackets are nested too deep to be read.
    """
    try:
        return json.loads(text)
    except RecursionError:
        raise ValueError("its brackets are nested too deep") from None
