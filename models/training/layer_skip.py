"""Searching which of a target's layers draft best for it, on its own greedy answers."""

from collections.abc import Iterator, Mapping
from typing import Any

from mlx_spec.drafters.layer_skip import LayerSkipDrafter
from mlx_spec.training.layer_search import NONE, TRIED_ANEW, Costs, Found, Judge, search, timed
from mlx_spec.training.own_text import Sizes
from mlx_spec.training.study import Text
from models.errors import BadChoice
from models.load.layer_skip import save_layer_skip
from models.time_text import time_text
from models.training.work import Pace, Report, Step, TrainRequest, Work, seconds
from models.training.workshop import Workshop

TOKENS = 400
"""Least tokens of answers: the standard error of an acceptance of 0.8 is then 0.02."""
SIZES = Sizes(rows=8, asked=48, answered=80, temperatures=(0.0,))
SEED = 17
"""For the questions: every search gets the same ones."""
PROBE = 100
"""Tokens of the text that `estimate` times a set of layers on."""


class LayerSearch(Work):
    """The search for one target.

    Raises:
        UnsupportedModel: the target's layers cannot be skipped.
        BadChoice: it cannot write chats, or has one layer.
    """

    def __init__(self, shop: Workshop, request: TrainRequest):
        self._shop, self._best = shop, NONE
        self._layers = len(shop.target.layers)  # type: ignore[arg-type]
        if self._layers < 2:
            raise BadChoice("The target has one layer, which cannot be left out. Train another kind.")
        LayerSkipDrafter(shop.target, range(self._layers - 1))
        self._own_texts = shop.own_texts(SEED, SIZES)
        self._most = self._layers - 1 + self._layers + TRIED_ANEW * max(0, self._layers - 2)
        """The most sets of layers that the search can try: each better than the one before."""

    def estimate(self) -> str:
        """Timed on one text and one set of layers."""
        judge = Judge(self._shop.target, [Text(range(1, 1 + PROBE), 1)], Costs({1: 1.0}, 1.0, self._layers))
        each = TOKENS / PROBE * seconds(lambda: judge.found(range(self._layers - 1)))
        writing = TOKENS * (1 + SIZES.asked / SIZES.answered) * self._shop.writing(SIZES.rows)
        return (
            f"At most {time_text(writing + self._most * each)} here and now, often much less:\n"
            f"  the target answers         {time_text(writing)}, {TOKENS} tokens or some more\n"
            f"  sets of layers are tried   {time_text(each)} each, at most {self._most}\n"
            f"The drafter goes to {self._shop.folder}. Ctrl+C ends the search with the best so far."
        )

    def run(self, report: Report) -> None:
        texts = list(self._texts(report))
        costs, pace = timed(self._shop.target), Pace(0)
        for tried, best in enumerate(search(self._shop.target, texts, costs), 1):
            self._best = best
            left = pace.left(tried, self._most)
            report(Step("Search", tried, self._most, "sets of layers at most", left, self._so_far()))

    def stopped(self) -> str:
        folder = self._shop.folder
        if self._best is NONE:
            return "Nothing is kept: no set of layers was tried yet."
        if self._best.gain <= 1:
            return f"Nothing is kept: no set of layers is faster than plain decoding. {_worth(self._best)}"
        if folder.exists():
            return f"{self._so_far()} It is not kept: what an earlier search found stays in {folder}."
        self._save({})
        return f"{self._so_far()} It is kept in {folder}."

    def finish(self, about: Mapping[str, Any]) -> tuple[bool, str]:
        folder = self._shop.folder
        if self._best.gain <= 1:
            old = f" The one in {folder} stays as it is." if folder.exists() else ""
            return False, f"No gain: {_worth(self._best)} Nothing is kept.{old}"
        self._save(about)
        ready = f"{folder} is ready: every command uses it with {self._shop.spec.name}."
        return True, f"{ready}\n{self._so_far()}"

    def _save(self, about: Mapping[str, Any]) -> None:
        save_layer_skip(self._shop.folder, self._best, self._shop.name, about)

    def _so_far(self) -> str:
        if self._best.gain <= 1:
            return "No set of layers is faster than plain decoding yet."
        return f"The best set: {_worth(self._best)}"

    def _texts(self, report: Report) -> Iterator[Text]:
        done, pace = 0, Pace(0)
        for text in self._own_texts:
            done += len(text.tokens) - text.begin
            yield text
            report(Step("Texts", min(done, TOKENS), TOKENS, "tokens", pace.left(done, TOKENS)))
            if done >= TOKENS:
                return


def _worth(found: Found) -> str:
    kept, length = len(found.layers), found.draft_length
    layers, tokens = f"{kept} layer{'s' * (kept > 1)}", f"{length} token{'s' * (length > 1)}"
    return (
        f"{layers}, first token accepted in {found.acceptance[0]:.0%}, give {found.gain:.2f} of plain "
        f"decoding's speed at {tokens} drafted ({found.ceiling:.2f} if drafting took no time)."
    )
