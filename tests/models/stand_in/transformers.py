"""In place of transformers where it is first on the path, as in the download processes of most tests.

Importing the real one takes a second of a core, more than all else that those processes do.
"""

from pathlib import Path

from tokenizers import Tokenizer


class AutoTokenizer:
    """Reads what the tests' models come with."""

    @staticmethod
    def from_pretrained(folder: Path, **_: bool) -> Tokenizer:
        return Tokenizer.from_file(str(folder / "tokenizer.json"))
