"""Counters of the server in Prometheus' text format, named as vLLM names them."""

from collections import Counter

from app.chat.engine_link import RequestFailed
from app.engine.events import TurnEnded
from app.server.line import Asked, Line


class Metrics:
    """What was counted since the server started."""

    def __init__(self) -> None:
        self._finished: Counter[str] = Counter()
        self._prompt = self._cached = self._generated = 0
        self._drafts = self._drafted = self._accepted = 0
        self._accepted_at: Counter[int] = Counter()
        self._first_token_seconds = self._decode_seconds = 0.0

    def count(self, asked: Asked, last: TurnEnded | RequestFailed) -> None:
        """A request that was with the engine, at its end."""
        if isinstance(last, RequestFailed):
            self._finished["refused" if last.refused else "error"] += 1
            return
        stats = last.stats
        self._finished[last.finish_reason] += 1
        self._prompt += stats.prompt_tokens
        self._cached += stats.cached_tokens
        self._generated += stats.tokens
        self._drafts += stats.rounds - stats.rounds_by_drafter.get("none", 0)
        self._drafted += stats.draft_n
        self._accepted += stats.draft_n_accepted
        self._accepted_at += asked.counts.accepted_at
        self._first_token_seconds += stats.time_to_first_token
        self._decode_seconds += stats.decode_seconds

    def text(self, line: Line, model: str) -> str:
        out: list[str] = []

        def add(name: str, kind: str, help: str, *samples: tuple[str, float]) -> None:  # noqa: A002
            full = f"mlx_spec:{name}"
            out.append(f"# HELP {full} {help}\n# TYPE {full} {kind}")
            for labels, value in samples:
                out.append(f'{full}{{model_name="{_escaped(model)}"{labels}}} {value}')

        def counter(name: str, help: str, value: float) -> None:  # noqa: A002
            add(f"{name}_total", "counter", help, ("", value))

        add("num_requests_running", "gauge", "Requests with the engine.", ("", len(line.running)))
        add("num_requests_waiting", "gauge", "Requests in line.", ("", len(line.waiting)))
        finished = [(f',finished_reason="{name}"', count) for name, count in sorted(self._finished.items())]
        add("request_success_total", "counter", "Requests that ended, by reason.", *finished)
        counter("prompt_tokens", "Tokens of prompts.", self._prompt)
        counter("prompt_tokens_cached", "Tokens of prompts that were not read again.", self._cached)
        counter("generation_tokens", "Tokens of answers.", self._generated)
        counter("spec_decode_num_drafts", "Rounds with a draft.", self._drafts)
        counter("spec_decode_num_draft_tokens", "Drafted tokens.", self._drafted)
        counter("spec_decode_num_accepted_tokens", "Accepted tokens.", self._accepted)
        at = [(f',position="{place}"', count) for place, count in sorted(self._accepted_at.items())]
        add(
            "spec_decode_num_accepted_tokens_per_pos_total",
            "counter",
            "Accepted, by place in the draft.",
            *at,
        )
        counter(
            "time_to_first_token_seconds", "Summed, with the engine.", round(self._first_token_seconds, 6)
        )
        counter("decode_seconds", "Summed time of decoding.", round(self._decode_seconds, 6))
        return "\n".join(out) + "\n"


def _escaped(label: str) -> str:
    return label.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
