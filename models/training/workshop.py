"""The loaded target of a training, its own texts, and the folders of the drafter."""

import os
from collections.abc import Iterator, Sequence

import mlx.core as mx
from mlx_lm.models.cache import ChunkedKVCache, make_prompt_cache

from mlx_spec.training import own_text
from mlx_spec.training.study import Text
from models.errors import BadChoice, BrokenFiles, MachineTrouble
from models.files import put_back
from models.load.checkpoint import opened
from models.load.engine import check_memory
from models.pairs.folder import check_target
from models.pairs.installed import installed_folder
from models.pairs.own_drafters import own_place, whole_name
from models.pairs.pair import PairSpec
from models.training.kinds import mark, vocabulary
from models.training.template import INSTEAD, chat_template
from models.training.work import seconds


class Workshop:
    """A loaded target, and the folders of a drafter of this kind.

    Raises:
        ModelsError: the target is not installed, too large, broken, or cannot be read.
    """

    def __init__(self, spec: PairSpec, kind: str):
        self.spec, self.path = spec, installed_folder(spec.target, spec)
        check_target(self.path, self.path)
        with opened(self.path) as files:
            check_memory([files])
            self.target, self.config = files.load()
            self.tokenizer = files.tokenizer(self.config)
        ids = {*self.tokenizer.get_vocab().values()} - {*self.tokenizer.get_added_vocab().values()}
        if max(ids, default=0) >= (count := vocabulary(self.target)):
            raise BrokenFiles(
                f"{self.path} has a token {max(ids)}, and its model a vocabulary of {count}. "
                "Use the tokenizer of this model."
            )
        self.name = whole_name(spec.target)
        self.folder = own_place(spec.target, kind)
        """For the finished drafter."""
        self.unfinished = self.folder.with_name(f".{kind}-{mark(self.target):08x}")
        """For texts and weights during training: of another target of this name they would be wrong."""
        put_back(self.folder)

    def check_place(self) -> None:
        """Make the folder for the target's drafters; MachineTrouble if nothing can be written there."""
        place = self.folder.parent
        try:
            place.mkdir(parents=True, exist_ok=True)
            why = "" if os.access(place, os.W_OK) else "no permission to write there"
        except OSError as error:
            why = error.strerror or str(error)
        if why:
            raise MachineTrouble(
                f"The drafter would go to {self.folder}: {why}. MLX_SPEC_HOME names another folder."
            )

    def own_texts(
        self, seed: int, sizes: own_text.Sizes | None = None, passages: Sequence[Sequence[int]] = ()
    ) -> Iterator[Text]:
        """Texts that the target writes; BadChoice if it cannot write chats."""
        if any(isinstance(entry, ChunkedKVCache) for entry in make_prompt_cache(self.target)):
            raise BadChoice(f"mlx-lm cannot write several texts at once with this model. {INSTEAD}")
        return own_text.own_texts(self.target, chat_template(self.tokenizer), seed, sizes, passages)

    def writing(self, rows: int) -> float:
        """Seconds per token when the target writes `rows` texts at once."""
        cache, ids = make_prompt_cache(self.target), mx.ones((rows, 1), mx.int32)
        mx.eval(self.target(mx.ones((rows, 128), mx.int32), cache=cache))
        return seconds(lambda: mx.eval(self.target(ids, cache=cache))) / rows
