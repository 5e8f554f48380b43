"""Turns conversations into fixed-size windows of token ids for training.

A window starts with the start of a conversation and is filled with further ones; what does not fit is cut.
"""

from collections.abc import Iterator

import torch
from tokenizers import Tokenizer

from models.train.corpus import Conversation

Batch = tuple[torch.Tensor, torch.Tensor, torch.Tensor]
"""Inputs, the tokens that follow them, and the loss weights of those: (rows, length) each."""
OTHER_WEIGHT = 0.1
"""Loss weight of tokens that the user or the system wrote; the assistant's count 1."""


def encode(tokenizer: Tokenizer, conversation: Conversation) -> tuple[list[int], list[float]]:
    """Token ids as the chat template gives them, and the loss weight of each."""
    end = tokenizer.token_to_id("<|end|>")
    ids: list[int] = []
    weights: list[float] = []
    for message in conversation.messages():
        body = [*tokenizer.encode(message["content"]).ids, end]
        ids += [tokenizer.token_to_id(f"<|{message['role']}|>"), *body]
        weight = 1.0 if message["role"] == "assistant" else OTHER_WEIGHT
        weights += [OTHER_WEIGHT, *[weight] * len(body)]
    return ids, weights


def batches(
    tokenizer: Tokenizer, conversations: Iterator[Conversation], shapes: Iterator[tuple[int, int]]
) -> Iterator[Batch]:
    """One batch for each (rows, length) of `shapes`."""
    for rows, length in shapes:
        all_ids, all_weights = [], []
        for _ in range(rows):
            ids: list[int] = []
            weights: list[float] = []
            while len(ids) < length + 1:
                more_ids, more_weights = encode(tokenizer, next(conversations))
                ids += more_ids
                weights += more_weights
            all_ids.append(ids[: length + 1])
            all_weights.append(weights[: length + 1])
        ids_array, weights_array = torch.tensor(all_ids), torch.tensor(all_weights)
        yield ids_array[:, :-1], ids_array[:, 1:], weights_array[:, 1:]
