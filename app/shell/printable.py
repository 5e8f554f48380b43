"""Text that came from a model, a file or the Hub, made safe to print: control characters, with which it
could clear the screen or set the clipboard, become visible signs (ESC is shown as ␛).
"""

import json
from typing import Any

_BIDI = "\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069"
"""They reorder displayed text, so that the code shown differs from the code copied."""

_SIGNS = {
    **{code: chr(0x2400 + code) for code in range(0x20) if chr(code) not in "\n\t"},
    0x7F: "\u2421",
    **{code: f"\\x{code:02x}" for code in range(0x80, 0xA0)},
    **{code: f"\\u{code:04x}" for code in (*map(ord, _BIDI), *range(0xD800, 0xE000))},
}
_JSON_SIGNS = {code: f"\\u{code:04x}" for code in _SIGNS if code >= 0x7F}


def printable(text: str) -> str:
    """The text with every control character replaced by a visible sign."""
    return text.translate(_SIGNS)


def one_line(text: str) -> str:
    """Printable text without line breaks, for table cells and messages."""
    return printable(" ".join(text.split()))


def json_text(value: Any) -> str:
    """JSON that is exact when parsed and harmless when seen on a terminal."""
    return json.dumps(value, indent=2, ensure_ascii=False).translate(_JSON_SIGNS)
