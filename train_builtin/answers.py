"""Generates the target's answers to training prompts in batches: the draft's training text."""

import itertools
import random
import time
from collections.abc import Iterator

import torch
from tokenizers import Tokenizer

from train_builtin.corpus import training_conversations
from train_builtin.network import Cache, Network
from train_builtin.precision import autocast
from train_builtin.windows import OTHER_WEIGHT, Weighted, encode

BATCH = 96
MAX_PROMPT = 320
MAX_ANSWER = 220


def prompts(tokenizer: Tokenizer, seed: int, count: int) -> list[list[int]]:
    """Token ids of conversations up to the start of an answer, sorted by length."""
    rng = random.Random(f"answers {seed}")
    begin = tokenizer.token_to_id("<|assistant|>")
    found: list[list[int]] = []
    for conversation in training_conversations(seed + 1_000_000):
        messages = conversation.messages()
        ends = [i for i, message in enumerate(messages) if message["role"] == "user"]
        ids = [*encode(tokenizer, messages[: rng.choice(ends) + 1])[0], begin]
        if len(ids) <= MAX_PROMPT:
            found.append(ids)
        if len(found) == count:
            return sorted(found, key=len)
    raise AssertionError("the conversations are endless")


@torch.no_grad()
def answer(network: Network, asked: list[list[int]], end: int, temperatures: list[float]) -> list[list[int]]:
    """One answer per prompt, with its `end` token; temperature 0 is greedy."""
    batch, longest = len(asked), max(map(len, asked))
    padding = torch.tensor([longest - len(ids) for ids in asked])
    ids = torch.tensor([[0] * (longest - len(row)) + row for row in asked])
    positions = (torch.arange(longest)[None] - padding[:, None]).clamp(min=0)
    caches = [Cache(padding) for _ in network.layers]
    heat = torch.tensor(temperatures)[:, None]
    written: list[list[int]] = [[] for _ in asked]
    # The prompt of each row that is still in the batch.
    alive = list(range(batch))
    for _ in range(MAX_ANSWER):
        with autocast():
            logits = network(ids, caches, positions)[:, -1].float()
        noise = -torch.empty_like(logits).exponential_().log()
        tokens = (logits + heat * noise).argmax(-1)
        for prompt, token in zip(alive, tokens.tolist(), strict=True):
            if not written[prompt] or written[prompt][-1] != end:
                written[prompt].append(token)
        ids, positions = tokens[:, None], positions[:, -1:] + 1
        open_rows = [row for row, prompt in enumerate(alive) if written[prompt][-1] != end]
        if not open_rows:
            break
        if len(open_rows) <= 0.8 * len(alive):
            alive = [alive[row] for row in open_rows]
            ids, positions, heat = ids[open_rows], positions[open_rows], heat[open_rows]
            for cache in caches:
                cache.keep(open_rows)
    return written


def write_answers(
    network: Network, tokenizer: Tokenizer, seed: int, count: int
) -> list[tuple[int, list[int]]]:
    """(prompt length, prompt and answer): half greedy, half sampled at temperatures up to 1."""
    rng = random.Random(f"temperatures {seed}")
    end = tokenizer.token_to_id("<|end|>")
    asked = prompts(tokenizer, seed, count)
    start, tokens, result = time.monotonic(), 0, []
    for first in range(0, count, BATCH):
        rows = asked[first : first + BATCH]
        heats = [0.0 if rng.random() < 0.5 else rng.uniform(0.4, 1.0) for _ in rows]
        for row, text in zip(rows, answer(network, rows, end, heats), strict=True):
            result.append((len(row), row + text))
            tokens += len(text)
        seconds = time.monotonic() - start
        if first // BATCH % 10 == 0:
            print(f"{len(result)} answers, {tokens} tokens, {tokens / seconds:.0f} tokens/s", flush=True)
    rng.shuffle(result)
    return result


def as_stream(answers: list[tuple[int, list[int]]], seed: int) -> Iterator[Weighted]:
    """An endless stream of the answers, in a new order each epoch."""
    rng = random.Random(f"order {seed}")
    for _ in itertools.count():
        order = list(range(len(answers)))
        rng.shuffle(order)
        for i in order:
            prompt, ids = answers[i]
            yield ids, [OTHER_WEIGHT] * prompt + [1.0] * (len(ids) - prompt)
