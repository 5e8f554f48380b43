"""A model's files before loading: a folder in mlx-lm's format, or a GGUF file (`gguf.py`)."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from glob import has_magic
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import dequantize_model, load_model, load_tokenizer

from mlx_spec.drafters.draft_head import embedding_of
from mlx_spec.ranks import Ranks
from models.errors import BadChoice, BrokenFiles, MachineTrouble, ModelsError, is_lack_of_memory, reason_of
from models.load.configuration import rope_settings
from models.load.gguf import read_weights, unpack
from models.load.gguf_file import GgufFile
from models.load.ranks import split
from models.load.tokenizers import settings, tokenizer_trouble
from models.pairs.config_json import check_config
from models.pairs.drafter_kinds import text_settings
from models.pairs.folder import bytes_by_dtype, read_config, tensor_names, weight_files

TIED = "tie_word_embeddings"


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A model's files before loading."""

    path: Path
    """As the user named it."""
    folder: Path
    """With config.json and the tokenizer's files."""
    gguf: GgufFile | None = None
    """Of the weights; None: they are in safetensors files of the folder."""

    @property
    def note(self) -> str:
        """For the user; empty if there is nothing to say."""
        return self.gguf.note if self.gguf else ""

    @property
    def config(self) -> dict[str, Any]:
        return read_config(self.folder)

    def weight_bytes(self) -> int:
        """Bytes of the weights in memory."""
        stored = self.gguf.bytes_by_dtype() if self.gguf else bytes_by_dtype(self.folder)
        if on_cpu():
            stored["U32"] = stored["U32"] * 32 // (self.config.get("quantization") or {}).get("bits", 32)
            stored["F16"] *= 2
            stored["BF16"] *= 2
        return stored.total()

    def load(
        self, *, as_float32: bool = False, ranks: Ranks | None = None
    ) -> tuple[nn.Module, dict[str, Any]]:
        """The model with its weights in memory, and its config.

        Args:
            as_float32: with float32 weights, as always on a CPU.
            ranks: load this rank's part of the model; None: the whole model.

        Raises:
            ModelsError: the files are broken, or memory ran out.
        """
        check_config(self.config, str(self.path))
        settings = rope_settings(self.config)
        if not self.gguf:
            settings |= _tied(self.config | settings, self._checked_names())
        try:
            model, config = load_model(self.folder, lazy=True, strict=not self.gguf, model_config=settings)
            if self.gguf:
                model.load_weights(list(read_weights(self.gguf).items()))
            if as_float32 or on_cpu():
                model.set_dtype(mx.float32)  # before dequantizing, else it rounds to float16
                model = dequantize_model(model)
                model.set_dtype(mx.float32)  # MXFP4 was made bfloat16
            elif self.gguf and config["model_type"] != "gemma3_text":
                # Norms are float32 in these files and would make all states so. Gemma's exceed float16.
                model.set_dtype(embedding_of(model)(mx.zeros((1,), mx.int32)).dtype)
            if ranks:
                split(model, config, ranks, self.path)
            mx.eval(model.parameters())
            # Not of a part: whether all ranks have the same model is asked later.
            if not ranks and mx.isnan(model(mx.zeros((1, 1), mx.int32))).any().item():
                raise BrokenFiles(f"The weights in {self.path} are damaged: they give NaN. Fetch them again.")
        except ModelsError:
            raise
        except Exception as error:
            raise trouble(self.path, error) from error
        return model, config

    def _checked_names(self) -> list[str]:
        """Of all tensors. BrokenFiles for more layers than these: mlx-lm would build them for hours."""
        layers = text_settings(self.config).get("num_hidden_layers")
        names = [name for file in weight_files(self.folder) for name in tensor_names(file)]
        count = len(names)
        if type(layers) is int and layers > count:
            raise BrokenFiles(
                f"config.json of {self.path} names {layers} layers, and its weights are {count} tensors. "
                "Download it again."
            )
        return names

    def tokenizer(self, config: Mapping[str, Any]) -> TokenizerWrapper:
        """The tokenizer; `config` is from `load`. ModelsError if it cannot be read."""
        # mlx-lm has merged the end tokens of generation_config.json into `config`.
        ends = config.get("eos_token_id")
        given = ends if isinstance(ends, list) else [] if ends is None else [ends]
        if odd := [end for end in given if type(end) is not int]:
            raise BrokenFiles(
                f"The end token in {self.path} is {odd[0]!r}, which is not a token id. Download it again."
            )
        try:
            return load_tokenizer(self.folder, settings(self.folder), eos_token_ids=ends)
        except Exception as error:
            raise tokenizer_trouble(self.path, error) from error


def _tied(config: Mapping[str, Any], names: Collection[str]) -> dict[str, Any]:
    """The setting by which a projection that is there is used, where config.json says nothing: mlx-lm would
    drop it for the embeddings, of which it is a copy only in models that tie them. transformers 5 says it
    beside `text_config`, where mlx-lm does not look.
    """
    text, said = config.get("text_config"), config.get(TIED)
    own = any(name.removeprefix("language_model.").startswith("lm_head.") for name in names)
    if not isinstance(text, Mapping):
        return {TIED: False} if own and TIED not in config else {}
    if own:
        unsaid = TIED not in text or said is False
    else:
        unsaid = TIED not in text and said is True
    return {"text_config": {**text, TIED: not own}} if unsaid else {}


def on_cpu() -> bool:
    """Whether MLX runs on the CPU; weights become float32 there, because quantized products are slow."""
    return mx.default_device() == mx.Device(mx.cpu)


@contextmanager
def opened(path: Path) -> Iterator[Checkpoint]:
    """The model in a folder or GGUF file; a GGUF file's small files are in a temporary folder meanwhile."""
    if not path.is_file() and not has_magic(str(path)):
        yield Checkpoint(path, path)
        return
    with TemporaryDirectory(prefix="mlx-spec-") as folder:
        if path.is_file():
            yield Checkpoint(path, Path(folder), unpack(path, Path(folder)))
            return
        link = Path(folder) / "model"  # mlx-lm takes a name with brackets for a pattern
        link.symlink_to(path.absolute())
        yield Checkpoint(path, link)


def trouble(path: Path, error: Exception) -> ModelsError:
    """An error of loading as a message for the user: mlx-lm does not wrap the errors of its parts."""
    text, reason, of = str(error), reason_of(error), "metadata" if path.is_file() else "config.json"
    if is_lack_of_memory(error):
        return MachineTrouble(f"The weights in {path} do not fit into memory. Choose a smaller pair.")
    if isinstance(error, ValueError) and ("arameters" in text or "shape" in text):
        return BrokenFiles(f"The weights in {path} do not belong to its {of}: {reason}")
    if isinstance(error, RuntimeError) and not isinstance(error, RecursionError):
        return BrokenFiles(f"The weights in {path} cannot be used here: {reason}")
    return BadChoice(f"mlx-lm cannot load the model in {path}: {type(error).__name__}: {reason}")
