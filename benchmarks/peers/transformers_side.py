"""transformers' `generate` on PyTorch's CPU backend as a side, with one thread, as MLX."""

import time
from typing import Any

from benchmarks.peers.answering import Answer, Ask

LOOKUP_TOKENS = 10
"""`prompt_lookup_num_tokens`, as in its documentation."""


class TransformersSide:
    """Ways: `plain`, `assistant` (the draft model, its defaults) and `lookup`."""

    def __init__(self, target: str, draft: str) -> None:
        import torch  # pyright: ignore[reportMissingImports]
        from transformers import AutoModelForCausalLM

        torch.set_num_threads(1)
        self.target: Any = AutoModelForCausalLM.from_pretrained(target, dtype=torch.float32).eval()
        self.draft: Any = AutoModelForCausalLM.from_pretrained(draft, dtype=torch.float32).eval()
        self.passes = 0
        self.target.register_forward_pre_hook(self._count)

    def answer(self, ask: Ask) -> Answer:
        """Run one prompt."""
        import torch  # pyright: ignore[reportMissingImports]
        from transformers import set_seed

        set_seed(ask.seed)
        self.passes = 0
        watch = _FirstTokens()
        ids = torch.tensor([list(ask.ids)])
        with torch.inference_mode():
            written = self.target.generate(
                ids,
                attention_mask=torch.ones_like(ids),
                max_new_tokens=ask.max_tokens,
                eos_token_id=list(ask.stop_tokens),
                streamer=watch,
                **self._drafting(ask.way),
                **_sampling(ask.temperature),
            )
        seconds = time.perf_counter() - watch.start
        tokens = tuple(written[0, len(ask.ids) :].tolist())
        return Answer(tokens, seconds, watch.seconds, watch.tokens, self.passes)

    def _drafting(self, way: str) -> dict[str, Any]:
        if way == "assistant":
            return {"assistant_model": self.draft}
        return {"prompt_lookup_num_tokens": LOOKUP_TOKENS} if way == "lookup" else {}

    def _count(self, *_: Any) -> None:
        self.passes += 1


def _sampling(temperature: float) -> dict[str, Any]:
    """Sampling from the full distribution: transformers' defaults would cut it to 50 tokens."""
    if temperature == 0:
        return {"do_sample": False, "temperature": None, "top_p": None, "top_k": None}
    return {"do_sample": True, "temperature": temperature, "top_p": 1.0, "top_k": 0}


class _FirstTokens:
    """A streamer that notes the time and number of the first new tokens."""

    def __init__(self) -> None:
        self.start = time.perf_counter()
        self.seconds = 0.0
        self.tokens = 0
        self._prompt_seen = False

    def put(self, value: Any) -> None:
        """Called with the prompt, then with new tokens."""
        if not self._prompt_seen:
            self._prompt_seen = True
        elif not self.tokens:
            self.seconds, self.tokens = time.perf_counter() - self.start, value.numel()

    def end(self) -> None:
        """Required of a streamer; unused."""
