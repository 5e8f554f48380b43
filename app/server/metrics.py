"""Counters of the server in Prometheus' text format, named as vLLM names them."""

from collections import Counter
from collections.abc import Callable, Iterable

from app.engine.events import TurnEnded
from app.engine.protocol import AnswerFailed
from app.server.request_queue import QueuedRequest, RequestQueue
from mlx_spec.stats import Stats

SUMS: dict[str, tuple[str, Callable[[Stats], float]]] = {
    "prompt_tokens": ("Tokens of prompts.", lambda s: s.prompt_tokens),
    "prompt_tokens_cached": ("Tokens of prompts that were not read again.", lambda s: s.cached_tokens),
    "generation_tokens": ("Tokens of answers.", lambda s: s.tokens),
    "spec_decode_num_drafts": (
        "Rounds with a draft.", lambda s: s.rounds - s.rounds_by_drafter.get("none", 0)
    ),
    "spec_decode_num_draft_tokens": ("Drafted tokens.", lambda s: s.draft_n),
    "spec_decode_num_accepted_tokens": ("Accepted tokens.", lambda s: s.draft_n_accepted),
    "time_to_first_token_seconds": (
        "Summed time to the first token, without the time in the queue.", lambda s: s.time_to_first_token
    ),
    "decode_seconds": ("Summed time of decoding.", lambda s: s.decode_seconds),
}  # fmt: skip
"""Counters that add up over requests: what they count, and how much a request adds."""


class Metrics:
    """What was counted since the server started."""

    def __init__(self) -> None:
        self._finished: Counter[str] = Counter()
        self._sums = dict.fromkeys(SUMS, 0.0)
        self._accepted_at: Counter[int] = Counter()

    def count(self, asked: QueuedRequest, last: TurnEnded | AnswerFailed) -> None:
        """Count a request that the engine has finished."""
        if isinstance(last, AnswerFailed):
            self._finished["refused" if last.refused else "error"] += 1
            return
        self._finished[last.finish_reason] += 1
        self._accepted_at += asked.accepted_at
        for name, (_, added) in SUMS.items():
            self._sums[name] += added(last.stats)

    def text(self, queue: RequestQueue, model: str) -> str:
        out: list[str] = []
        escaped = model.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")

        def add(name: str, kind: str, help: str, samples: Iterable[tuple[str, float]]) -> None:  # noqa: A002
            full = f"mlx_spec:{name}"
            out.append(f"# HELP {full} {help}\n# TYPE {full} {kind}")
            for labels, value in samples:
                out.append(f'{full}{{model_name="{escaped}"{labels}}} {round(value, 6):.15g}')

        add("num_requests_running", "gauge", "Requests with the engine.", [("", len(queue.running))])
        add("num_requests_waiting", "gauge", "Requests in the queue.", [("", len(queue.waiting))])
        finished = [(f',finished_reason="{name}"', count) for name, count in sorted(self._finished.items())]
        add("request_success_total", "counter", "Requests that ended, by reason.", finished)
        for name, (help_, _) in SUMS.items():
            add(f"{name}_total", "counter", help_, [("", self._sums[name])])
        at = [(f',position="{place}"', count) for place, count in sorted(self._accepted_at.items())]
        name, help_ = "spec_decode_num_accepted_tokens_per_pos_total", "Accepted, by place in the draft."
        add(name, "counter", help_, at)
        return "\n".join(out) + "\n"
