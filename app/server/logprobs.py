"""Log probabilities in the formats of OpenAI's chat and completions APIs."""

from collections.abc import Sequence
from typing import Any

from app.engine.events import ScoredToken

MOST_LOGPROBS = 20
"""Most likeliest tokens that a request may ask for at each position."""


def chat_logprobs(scored: Sequence[ScoredToken]) -> dict[str, Any]:
    content = [
        {**_token(each.text, each.logprob), "top_logprobs": [_token(*other) for other in each.top]}
        for each in scored
    ]
    return {"content": content, "refusal": None}


def completion_logprobs(scored: Sequence[ScoredToken]) -> dict[str, Any]:
    return {
        "tokens": [each.text for each in scored],
        "token_logprobs": [each.logprob for each in scored],
        "top_logprobs": [{**dict(each.top), each.text: each.logprob} for each in scored],
        "text_offset": [each.begin for each in scored],
    }


def _token(text: str, logprob: float) -> dict[str, Any]:
    """`bytes` is None for a part of a character, whose bytes are not known here."""
    return {"token": text, "logprob": logprob, "bytes": None if "\ufffd" in text else list(text.encode())}
