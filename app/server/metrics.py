"""Counters of the server in Prometheus' text format, named as vLLM names them."""

from collections import Counter
from collections.abc import Iterable

from app.chat.engine_link import RequestFailed
from app.engine.events import TurnEnded
from app.server.request_queue import QueuedRequest, RequestQueue

SUMS = {
    "prompt_tokens": "Tokens of prompts.",
    "prompt_tokens_cached": "Tokens of prompts that were not read again.",
    "generation_tokens": "Tokens of answers.",
    "spec_decode_num_drafts": "Rounds with a draft.",
    "spec_decode_num_draft_tokens": "Drafted tokens.",
    "spec_decode_num_accepted_tokens": "Accepted tokens.",
    "time_to_first_token_seconds": "Summed time to the first token, without the time in the queue.",
    "decode_seconds": "Summed time of decoding.",
}
"""Counters that add up over requests, and what they count."""


class Metrics:
    """What was counted since the server started."""

    def __init__(self) -> None:
        self._finished: Counter[str] = Counter()
        self._sums = dict.fromkeys(SUMS, 0.0)
        self._accepted_at: Counter[int] = Counter()

    def count(self, asked: QueuedRequest, last: TurnEnded | RequestFailed) -> None:
        """Count a request that the engine has finished."""
        if isinstance(last, RequestFailed):
            self._finished["refused" if last.refused else "error"] += 1
            return
        stats = last.stats
        self._finished[last.finish_reason] += 1
        self._accepted_at += asked.accepted_at
        for name, value in {
            "prompt_tokens": stats.prompt_tokens,
            "prompt_tokens_cached": stats.cached_tokens,
            "generation_tokens": stats.tokens,
            "spec_decode_num_drafts": stats.rounds - stats.rounds_by_drafter.get("none", 0),
            "spec_decode_num_draft_tokens": stats.draft_n,
            "spec_decode_num_accepted_tokens": stats.draft_n_accepted,
            "time_to_first_token_seconds": stats.time_to_first_token,
            "decode_seconds": stats.decode_seconds,
        }.items():
            self._sums[name] += value

    def text(self, queue: RequestQueue, model: str) -> str:
        out: list[str] = []

        def add(name: str, kind: str, help: str, samples: Iterable[tuple[str, float]]) -> None:  # noqa: A002
            full = f"mlx_spec:{name}"
            out.append(f"# HELP {full} {help}\n# TYPE {full} {kind}")
            for labels, value in samples:
                out.append(f'{full}{{model_name="{_escaped(model)}"{labels}}} {round(value, 6):.15g}')

        add("num_requests_running", "gauge", "Requests with the engine.", [("", len(queue.running))])
        add("num_requests_waiting", "gauge", "Requests in the queue.", [("", len(queue.waiting))])
        finished = [(f',finished_reason="{name}"', count) for name, count in sorted(self._finished.items())]
        add("request_success_total", "counter", "Requests that ended, by reason.", finished)
        for name, help_ in SUMS.items():
            add(f"{name}_total", "counter", help_, [("", self._sums[name])])
        at = [(f',position="{place}"', count) for place, count in sorted(self._accepted_at.items())]
        name, help_ = "spec_decode_num_accepted_tokens_per_pos_total", "Accepted, by place in the draft."
        add(name, "counter", help_, at)
        return "\n".join(out) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
