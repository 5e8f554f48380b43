"""An answer's token counts and timings, in the formats of OpenAI and of llama.cpp's server."""

from collections.abc import Sequence
from typing import Any

from app.engine.events import TurnEnded
from app.server.request_queue import QueuedRequest

PREDICTION_DRAFTER = "lookup"
"""The drafter that copies from a request's `prediction`."""


def usage(answers: Sequence[tuple[QueuedRequest, TurnEnded]], n: int = 1) -> dict[str, Any]:
    """Summed over a request's answers; `n` consecutive ones share a prompt, which counts once. A stop token
    counts as a token of the answer.
    """
    first = [ended.stats for _, ended in answers[::n]]
    prompt = sum(stats.prompt_tokens for stats in first)
    completion = sum(ended.stats.tokens for _, ended in answers)
    found = {
        "prompt_tokens": prompt,
        "completion_tokens": completion,
        "total_tokens": prompt + completion,
        "prompt_tokens_details": {"cached_tokens": sum(stats.cached_tokens for stats in first)},
    }
    thought = sum(asked.thought_tokens for asked, _ in answers)
    details = {"reasoning_tokens": thought} if thought else {}
    if any(asked.request.documents for asked, _ in answers):
        drafted = sum(asked.drafted[PREDICTION_DRAFTER] for asked, _ in answers)
        accepted = sum(asked.accepted[PREDICTION_DRAFTER] for asked, _ in answers)
        details |= {"accepted_prediction_tokens": accepted, "rejected_prediction_tokens": drafted - accepted}
    if details:
        found["completion_tokens_details"] = details
    return found


def timings(ended: TurnEnded) -> dict[str, Any]:
    """The timings of one answer. `draft_rounds`, `draft_kind` and `seed` are our additions.

    As in llama.cpp the prompt's time goes up to the first token: its last piece is read in the first round.
    """
    stats = ended.stats
    first_round = stats.time_to_first_token - stats.prefill_seconds
    drafters = {name: count for name, count in stats.rounds_by_drafter.items() if name != "none"}
    return {
        "cache_n": stats.cached_tokens,
        "prompt_n": stats.prompt_tokens - stats.cached_tokens,
        "prompt_ms": round(stats.time_to_first_token * 1000, 3),
        "predicted_n": stats.tokens,
        "predicted_ms": round(max(0.0, stats.decode_seconds - first_round) * 1000, 3),
        "predicted_per_second": round(stats.tokens_per_second, 3),
        "draft_n": stats.draft_n,
        "draft_n_accepted": stats.draft_n_accepted,
        "draft_rounds": sum(drafters.values()),
        "draft_kind": "+".join(sorted(drafters, key=lambda name: -drafters[name])),
        "seed": ended.seed,
    }
