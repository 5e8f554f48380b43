"""A target with its drafters: token ids in, rounds out. Knows nothing of text, files, network or screens."""

from collections.abc import Iterator, Sequence

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Float

from mlx_spec.drafters import Drafter
from mlx_spec.drafters.choice import Choice
from mlx_spec.drafters.draft_head import restrict_head
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.errors import BadOption, ContextFull, SpecError
from mlx_spec.loop import ROUNDS_IN_FLIGHT, Turn
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.plan import Fixed
from mlx_spec.stats import Stats, summarise
from mlx_spec.target.cache import Extent
from mlx_spec.target.model import CachedModel, Progress
from mlx_spec.token_ids import token_ids
from mlx_spec.types import Options, Round
from mlx_spec.verify.verifiers import RuleBook


def drafts_in_flight() -> int:
    """`ROUNDS_IN_FLIGHT` for rounds with a draft, by device.

    On the CPU backend a submission returns when nearly all of it is done: a round in flight hides
    little there, and the one that is dropped at the end of an answer costs its whole time.
    """
    return ROUNDS_IN_FLIGHT if mx.default_device().type == mx.gpu else 0


class Engine:
    """A target, and what may draft for it.

    `kv_bits` quantizes the target's keys and values; `draft_head` are the ids of the only tokens that
    the draft model may guess.

    All calls must come from one thread: MLX binds arrays to the thread that makes them.

    Raises:
        UnsupportedModel: a model keeps state that cannot be rewound.
        BadOption: `draft_head` holds no token of the draft's, or is given where both models are one.
    """

    def __init__(
        self,
        target: nn.Module,
        draft: nn.Module | None = None,
        *,
        context_limit: int,
        kv_bits: int | None = None,
        draft_head: Sequence[int] | None = None,
    ):
        self.target = CachedModel(target, kv_bits)
        self.context_limit = context_limit
        if draft is not None and draft_head is not None:
            if draft is target:
                raise BadOption(
                    "draft_head would change the target too: load the draft as a model of its own."
                )
            restrict_head(draft, draft_head)
        self.model_drafter = ModelDrafter(draft, self.target.vocab) if draft is not None else None
        self.lookup: Drafter = LookupDrafter()
        self._models = [self.target, *([self.model_drafter.cached] if self.model_drafter else [])]
        self.drafts_in_flight = drafts_in_flight() if all(model.lazy for model in self._models) else 0
        self.controller = Controller()
        """Plans the rounds where no draft length is asked for."""
        self._turn: Turn | None = None

    @property
    def can_draft(self) -> bool:
        """Whether there is a draft model; lookup is always there."""
        return self.model_drafter is not None

    def generate(
        self,
        prompt: Sequence[int],
        options: Options,
        *,
        documents: Sequence[Sequence[int]] = (),
        progress: Progress | None = None,
    ) -> Iterator[Round]:
        """Continue `prompt`, a round at a time. Not reading on is a cancel and leaves all usable.

        The prefix shared with everything read or written before is not read again.

        Args:
            prompt: token ids, at least one.
            documents: other texts the answer may copy from (lookup drafts from them).
            progress: told (done, total) prompt tokens after each chunk.

        Raises:
            BadOption: the prompt is empty, an id is no token of the target's, or a draft model is asked for
                and there is none.
            ContextFull: the prompt leaves no room for an answer.
        """
        prompt = token_ids(prompt, "the prompt", self.target.vocab)
        if not prompt:
            raise BadOption("The prompt is empty. Give at least one token.")
        if len(prompt) >= self.context_limit:
            raise ContextFull(
                f"The prompt has {len(prompt)} tokens and the model's context holds {self.context_limit}. "
                "Shorten the prompt."
            )
        documents = [token_ids(document, "a document", self.target.vocab) for document in documents]
        self._turn = Turn(self, prompt, options, self._choice(options))
        return self._turn.run(documents, progress)

    def stats(self, rounds: Sequence[Round]) -> Stats:
        """The numbers of the last generation, of which `rounds` were read."""
        turn = self._turn
        if turn is None:
            return summarise(rounds)
        return summarise(
            rounds,
            prompt_tokens=turn.prompt_length,
            cached_tokens=turn.cached_tokens,
            prefill_seconds=turn.prefill_seconds,
            peak_memory_bytes=mx.get_peak_memory(),
        )

    def forget(self) -> None:
        """Read the next prompt from its first token, as after loading."""
        self._turn = None
        self.target.seen = 0
        if self.model_drafter is not None:
            self.model_drafter.keep(())

    @property
    def can_assume(self) -> bool:
        """Whether `assume` works for all its models."""
        return all(model.can_assume for model in self._models)

    def assume(self, tokens: Sequence[int]) -> None:
        """Act as if `tokens` had been read, where rows are all there is: their content costs nothing."""
        for model in self._models:
            model.assume(tokens)

    @property
    def graphs_built(self) -> int:
        """Of both models; a round that builds one takes longer than those after it."""
        return sum(model.graphs_built for model in self._models)

    def hold(self, turn: Turn) -> None:
        """Refuse to go on with an answer after another one began: they share the caches."""
        if turn is not self._turn:
            raise SpecError("This answer was ended by a later one. Read the later one.")

    def next_scores(self, tokens: Sequence[int], options: Options) -> Float[mx.array, " vocab"]:
        """What the choice of the token after `tokens` is the argmax of, by one plain pass.

        Logits at temperature 0, noisy log probabilities above it.
        """
        self._turn, tokens = None, token_ids(tokens, "the text", self.target.vocab)
        self.target.prefill(list(tokens), len(tokens) - 1)
        logits = self.target.forward(mx.array(list(tokens[-1:]), mx.int32), Extent.exact(len(tokens) - 1))
        rule = RuleBook(options, self.target.vocab).open(
            mx.array(list(tokens), mx.int32), Extent.exact(len(tokens)), 0
        )
        return rule.scores(logits)[0]

    def _choice(self, options: Options) -> Choice:
        if options.drafter == "model" and self.model_drafter is None:
            raise BadOption("There is no draft model in this pair. Use drafter lookup or none, or add one.")
        drafts = options.drafter != "none" and options.draft_length != 0
        return Choice(
            self.model_drafter if drafts and options.drafter in ("model", "auto") else None,
            self.lookup if drafts and options.drafter in ("lookup", "auto") else None,
            self.controller if options.draft_length is None else Fixed(options.draft_length),
        )
