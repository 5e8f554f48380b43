"""Packs conversations into fixed-size windows of token ids for training.

A window starts at the start of a conversation and is filled with further ones; the last one is truncated.
"""

from collections.abc import Iterable, Iterator

import torch
from tokenizers import Tokenizer

from train_builtin.corpus import Conversation

Weighted = tuple[list[int], list[float]]
"""A conversation's token ids, and the loss weight of each."""
Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Inputs, next tokens, and loss weights of the next tokens: (rows, length) each."""
OTHER_WEIGHT = 0.1
"""Loss weight of user and system tokens; the assistant's have 1."""


def encode(tokenizer: Tokenizer, messages: Iterable[dict[str, str]]) -> Weighted:
    """Token ids as by the chat template, and the loss weight of each."""
    end = tokenizer.token_to_id("<|end|>")
    ids: list[int] = []
    weights: list[float] = []
    for message in messages:
        body = [*tokenizer.encode(message["content"]).ids, end]
        ids += [tokenizer.token_to_id(f"<|{message['role']}|>"), *body]
        weight = 1.0 if message["role"] == "assistant" else OTHER_WEIGHT
        weights += [OTHER_WEIGHT, *[weight] * len(body)]
    return ids, weights


def windows(stream: Iterator[Weighted], rows: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
    """The next windows of the stream: ids and loss weights, (rows, length) each."""
    all_ids, all_weights = [], []
    for _ in range(rows):
        ids: list[int] = []
        weights: list[float] = []
        while len(ids) < length:
            more_ids, more_weights = next(stream)
            ids += more_ids
            weights += more_weights
        all_ids.append(ids[:length])
        all_weights.append(weights[:length])
    return torch.tensor(all_ids), torch.tensor(all_weights)


def batches(
    tokenizer: Tokenizer, conversations: Iterator[Conversation], shapes: Iterator[tuple[int, int]]
) -> Iterator[Batch]:
    """One batch for each (rows, length) of `shapes`."""
    stream = (encode(tokenizer, conversation.messages()) for conversation in conversations)
    for rows, length in shapes:
        ids, weights = windows(stream, rows, length + 1)
        yield ids[:, :-1], ids[:, 1:], weights[:, 1:]
