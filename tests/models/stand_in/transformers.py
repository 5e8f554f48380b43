"""A stand-in for transformers, first on the path in the download processes of most tests.

Importing the real one takes a second, longer than all else in those processes.
"""

from pathlib import Path

from tokenizers import Tokenizer


class AutoTokenizer:
    """Reads the tokenizer.json of the tests' models."""

    @staticmethod
    def from_pretrained(folder: Path, **_: bool) -> Tokenizer:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
