"""Arguments of a tool call in the types that the tool's schema gives them.

Formats in XML have no types, and mlx-lm's parsers read only the simplest schemas: for a number or nothing
they give the text "5".
"""

import json
from collections.abc import Sequence
from typing import Any

_KINDS: dict[type, str] = {
    str: "string", bool: "boolean", int: "integer", float: "number", list: "array", dict: "object",
    type(None): "null",
}  # fmt: skip
_PYTHON = {"True": "true", "False": "false", "None": "null"}


def fitted(name: str, arguments: dict[str, Any], tools: Sequence[dict[str, Any]]) -> dict[str, Any]:
    functions = (tool["function"] for tool in tools if tool["function"].get("name") == name)
    parameters = next(functions, {}).get("parameters") or {}
    schemas = parameters.get("properties") or {}
    return {key: _fit(value, _allowed(schemas.get(key))) for key, value in arguments.items()}


def _allowed(schema: Any) -> set[str]:
    """The types that a schema allows; none if it says nothing, or is not understood."""
    if not isinstance(schema, dict):
        return set()
    types = schema.get("type") or []
    found = {types} if isinstance(types, str) else {each for each in types if isinstance(each, str)}
    for choice in (*(schema.get("anyOf") or ()), *(schema.get("oneOf") or ())):
        if not (inner := _allowed(choice)):
            return set()
        found |= inner
    return found | {"integer"} if "number" in found else found


def _fit(value: Any, allowed: set[str]) -> Any:
    kind = _KINDS.get(type(value))  # None: a tuple, in calls written as Python
    if not allowed or kind in allowed:
        return value
    if isinstance(value, str):
        try:
            read = json.loads(_PYTHON.get(value, value))
        except ValueError:
            return value
        return read if _KINDS[type(read)] in allowed else value
    if "string" in allowed and value is not None:
        return json.dumps(value, ensure_ascii=False)
    return value
