"""Reads a model's tokenizer from its folder: no code of the repository runs, nothing asks the network."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Protocol

from models.errors import BrokenFiles, UnsupportedFormat, reason_of

LOCAL_ONLY = {"trust_remote_code": False, "local_files_only": True}


class Tokenizer(Protocol):
    """What is asked of a tokenizer here; Hugging Face's and mlx-lm's wrapper both have it."""

    @property
    def eos_token_id(self) -> int | None: ...
    @property
    def chat_template(self) -> Any: ...
    def get_vocab(self) -> dict[str, int]: ...
    def get_added_vocab(self) -> dict[str, int]: ...
    def encode(self, text: str, *, add_special_tokens: bool) -> Sequence[int]: ...
    def decode(self, ids: Sequence[int]) -> str: ...


def read_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer alone, for comparing.

    Raises:
        BrokenFiles: its files cannot be read.
        UnsupportedFormat: it needs code from the repository.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, **LOCAL_ONLY)
    except Exception as error:
        raise tokenizer_trouble(folder, error) from error


def tokenizer_trouble(folder: Path, error: Exception) -> BrokenFiles | UnsupportedFormat:
    """The error in the user's words: transformers raises whatever its parsers raise."""
    reason = reason_of(error)
    if "trust_remote_code" in str(error):
        return UnsupportedFormat(
            f"The tokenizer in {folder} needs its own Python code; "
            "code from model repositories is never executed here."
        )
    return BrokenFiles(f"The tokenizer in {folder} cannot be read ({reason}).")
