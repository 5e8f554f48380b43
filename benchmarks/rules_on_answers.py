"""Acceptance by verification rule, computed from both models' distributions: no clock, no sampling noise.

`python -m benchmarks.rules_on_answers [--temperature 0.8] [--target X --draft Y]`. Along texts that the
target wrote, the acceptance rate is computed at each position: sum(p q) if the draft must equal an
independent sample of the target (mlx-lm), that of shared Gumbel noise (`coupled`), and sum(min(p, q)), the
upper bound of all rules that judge token by token (Leviathan, Kalman and Matias 2023, theorem 3.5). Prints
tokens per round at draft length 3.
"""

import argparse
import json
from collections import defaultdict

import mlx.core as mx
import numpy as np

from app.shell.runtime import prepare
from benchmarks.peers.prompts import read_prompts
from mlx_spec.types import Options

LENGTH, TOKENS, SEEDS = 3, 96, 4
IN_DOMAIN = ("chat", "code")


def distributions(model, ids: list[int], temperature: float) -> np.ndarray:
    """[positions, vocabulary]: the distribution of the next token."""
    logits = model(mx.array([ids]))[0].astype(mx.float32)
    return np.array(mx.softmax(logits / temperature, axis=-1), np.float64)


def coupled(p: np.ndarray, q: np.ndarray) -> float:
    """The chance that both distributions choose the same token with the same Gumbel noise.

    The sum over i of 1 / sum_j max(p_j / p_i, q_j / q_i), without negligible tokens i.
    """
    both = np.flatnonzero(np.minimum(p, q) > 1e-4)
    return float((1 / np.maximum(p / p[both, None], q / q[both, None]).sum(axis=1)).sum())


def per_round(chances: np.ndarray) -> list[float]:
    """Mean tokens of a round of draft length `LENGTH` from each position, given acceptance rates."""
    starts = len(chances) - LENGTH
    if starts < 1:
        return []
    each = np.array([chances[i : i + starts] for i in range(LENGTH)])
    return list(1 + np.cumprod(each, axis=0).sum(axis=0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target")
    parser.add_argument("--draft")
    parser.add_argument("--temperature", type=float, default=0.8)
    asked = parser.parse_args()
    prepare()
    from benchmarks.peers.ours import OurSide

    side = OurSide(asked.target, asked.draft, tune=False)
    engine = side.pair.engine
    (draft,) = (model.model for drafter in engine.drafters for model in drafter.models)
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for prompt in read_prompts():
        ids, stops = side.encode(prompt.messages)
        for seed in range(SEEDS):
            engine.forget()
            options = Options(max_tokens=TOKENS, temperature=asked.temperature, seed=seed,
                              stop_tokens=frozenset(stops), draft_length=0)  # fmt: skip
            text = [*ids, *(token for read in engine.generate(ids, options) for token in read.tokens)]
            p, q = (
                distributions(model, text, asked.temperature)[len(ids) - 1 : -1]
                for model in (engine.target.model, draft)
            )
            rules = {
                "its own draw": (p * q).sum(axis=1),
                "coupled": np.array([coupled(*both) for both in zip(p, q, strict=True)]),
                "the most": np.minimum(p, q).sum(axis=1),
            }
            for group in [prompt.category, *(["in domain"] if prompt.category in IN_DOMAIN else [])]:
                for rule, chances in rules.items():
                    found[group][rule] += per_round(chances)
    result = {}
    for group, rules in found.items():
        tokens = {rule: float(np.mean(values)) for rule, values in rules.items()}
        own = tokens["its own draw"]
        result[group] = {rule: round(each, 3) for rule, each in tokens.items()}
        shares = ", ".join(f"{rule} {each / own:.3f}" for rule, each in tokens.items() if each != own)
        print(f"{group}: {own:.2f} tokens a round at {LENGTH} where each draws its own; of that: {shares}")
    print(json.dumps({"temperature": asked.temperature, "length": LENGTH, "tokens_per_round": result}))


if __name__ == "__main__":
    main()
