"""Measures the exported pair on held-out prompts, in float32: loss, and acceptance of a greedy draft.

At temperature 0 a drafted token is accepted if and only if it is the target's next token, so the draft always
continues the target's text. One pass of the draft over prompt and answer gives the acceptance of every round.
"""

import itertools
from dataclasses import dataclass
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
from mlx_lm import load
from mlx_lm.generate import generate_step
from mlx_lm.tokenizer_utils import TokenizerWrapper
from mlx_lm.utils import dequantize_model

from train_builtin.corpus import Conversation, held_out_conversations

DRAFT_LENGTH = 3
MAX_ANSWER = 250


@dataclass(frozen=True)
class Acceptance:
    rounds: int
    drafted: int
    accepted: int
    tokens: int

    @property
    def rate(self) -> float:
        """Accepted / drafted."""
        return self.accepted / self.drafted

    def __add__(self, other: "Acceptance") -> "Acceptance":
        return Acceptance(
            self.rounds + other.rounds,
            self.drafted + other.drafted,
            self.accepted + other.accepted,
            self.tokens + other.tokens,
        )


def load_float32(folder: Path) -> tuple[nn.Module, TokenizerWrapper]:
    """The model with dequantized weights: MLX's CPU backend is slow on quantized ones."""
    model, tokenizer = load(str(folder))
    model = dequantize_model(model)
    model.set_dtype(mx.float32)
    return model, tokenizer


def prompt_ids(tokenizer: TokenizerWrapper, conversation: Conversation) -> list[int]:
    """The conversation up to the start of the last answer."""
    messages = conversation.messages()[:-1]
    return tokenizer.apply_chat_template(messages, add_generation_prompt=True, return_dict=False)


def greedy_answer(model: nn.Module, tokenizer: TokenizerWrapper, prompt: list[int]) -> list[int]:
    """The target's answer, with its end token unless it reaches `MAX_ANSWER`."""
    answer: list[int] = []
    for token, _ in generate_step(mx.array(prompt), model, max_tokens=MAX_ANSWER):
        answer.append(int(token))
        if answer[-1] in tokenizer.eos_token_ids:
            break
    return answer


def accepted_by_round(draft: nn.Module, prompt: list[int], answer: list[int]) -> Acceptance:
    """Acceptance over the answer in rounds of `DRAFT_LENGTH`; tokens beyond its end count as rejected.

    The answer's first token is not drafted: it comes from prefill.
    """
    logits = draft(mx.array([prompt + answer]))[0, len(prompt) : -1]
    right = (mx.argmax(logits, axis=-1) == mx.array(answer[1:])).tolist()
    place = rounds = accepted = 0
    while place < len(right):
        kept = sum(1 for _ in itertools.takewhile(bool, right[place : place + DRAFT_LENGTH]))
        rounds, accepted, place = rounds + 1, accepted + kept, place + kept + 1
    return Acceptance(rounds, rounds * DRAFT_LENGTH, accepted, len(answer))


def measure(builtin: Path, count: int) -> tuple[dict[str, Acceptance], float]:
    """Acceptance by source of the prompt, and the target's held-out loss in nats per answer token."""
    target, tokenizer = load_float32(builtin / "target")
    draft, _ = load_float32(builtin / "draft")
    found: dict[str, Acceptance] = {}
    nats = tokens = 0.0
    for conversation in itertools.islice(held_out_conversations(0), count):
        prompt = prompt_ids(tokenizer, conversation)
        goal = tokenizer.encode(conversation.turns[-1].answer, add_special_tokens=False) + [
            tokenizer.eos_token_id
        ]
        logits = target(mx.array([prompt + goal]))[0, len(prompt) - 1 : -1]
        nats += nn.losses.cross_entropy(logits, mx.array(goal), reduction="sum").item()
        tokens += len(goal)
        answer = greedy_answer(target, tokenizer, prompt)
        source = conversation.turns[-1].source
        found[source] = found.get(source, Acceptance(0, 0, 0, 0)) + accepted_by_round(draft, prompt, answer)
    return found, nats / tokens
