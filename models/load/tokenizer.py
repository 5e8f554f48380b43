"""Reads a model's tokenizer from its folder: no code of the repository runs, nothing asks the network."""

from pathlib import Path
from typing import Any

from models.errors import BadChoice, BrokenFiles, ModelsError, reason_of

LOCAL_ONLY = {"trust_remote_code": False, "local_files_only": True}


def read_tokenizer(folder: Path) -> Any:
    """Hugging Face's tokenizer alone, for comparing.

    Raises:
        BrokenFiles: its files cannot be read.
        BadChoice: it needs code from the repository.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, **LOCAL_ONLY)
    except Exception as error:
        raise tokenizer_trouble(folder, error) from error


def tokenizer_trouble(folder: Path, error: Exception) -> ModelsError:
    """The error in the user's words: transformers raises whatever its parsers raise."""
    reason = reason_of(error)
    if "trust_remote_code" in str(error):
        return BadChoice(
            f"The tokenizer in {folder} needs its own Python code; "
            "code from model repositories is never executed here."
        )
    return BrokenFiles(f"The tokenizer in {folder} cannot be read ({reason}).")
