"""Drafts by a small model with the target's own keys and values (Gemma 4's assistants).

It has no rows of its own: nothing to read before a draft, nothing to rewind after one.
"""

from collections.abc import Sequence

from mlx_spec.arrays import Draft, Length
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Context
from mlx_spec.drafters.assistant_head import SLIDING, AssistantHead, Seen
from mlx_spec.drafters.last_state import LastStateDrafter
from mlx_spec.errors import UnsupportedModel
from mlx_spec.target.model import Model
from mlx_spec.target.view import View
from mlx_spec.verify.batch import BatchVerifier, Chain

LIMIT = 8
"""Google advises 2 to 8 tokens, by the target's size; later steps are less accurate."""


class AssistantDrafter(LastStateDrafter):
    """An assistant that was made for the target."""

    name = "assistant"
    candidate = Candidate("assistant", kind="assistant", prior=0.6, limit=LIMIT)

    def __init__(self, head: AssistantHead):
        self.head, self.taps = head, head.taps

    @property
    def takes_time(self) -> bool:
        return True

    def attach(self, target: Model) -> None:
        super().attach(target)
        if any(buffer.bits for buffer in target.buffers):
            raise UnsupportedModel(
                "An assistant reads its target's keys and values, and these are quantized. Leave kv_bits out."
            )
        self._buffers = {kind: target.buffers[layer] for kind, layer in self.head.shape.reads.items()}

    def candidates(self, length: Length) -> Sequence[Candidate]:
        return () if self._state is None else (self.candidate,)

    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        assert self._state is not None, "there is no candidate before a round was observed"
        seen = {kind: self._seen(kind, context.length.plus(-2)) for kind in self._buffers}
        token, hidden = context.last(1), self.head.features([self._state])
        chain = Chain(verifier, len(token))
        for _ in range(depth):
            states = self.head(token, hidden, seen)
            token = chain.step(self.head.logits(states)[:, 0, : verifier.vocab])
            hidden = self.head.next_hidden(states)
        return chain.draft

    def _seen(self, kind: str, at: Length) -> Seen:
        """Keys, values and mask of the target's rows up to `at`, the last that it has read."""
        view, window = View(self._buffers[kind], at), self.head.shape.args.sliding_window
        keys, values = view.look(1)
        mask = view.make_mask(1, window_size=window if kind == SLIDING else None)
        return Seen(keys, values, mask, at.value)
