"""How much rounding changes a target's logits: `app.engine.same_text.TOLERANCE` has to cover this.

`python -m benchmarks.rounding_on_answers [--target X]`. Along the target's own greedy answers, compares the
logits of passes over 4 and 9 rows with those of passes over one, and the logits of 16-bit weights with those
of 32-bit weights. Differences are shares of the largest logit at the position.
"""

import argparse
import json

import numpy as np

from app.shell.runtime import prepare
from benchmarks.peers.prompts import read_prompts
from mlx_spec.types import Options

PRECISIONS = ("float32", "float16", "bfloat16")
ROWS = (1, 4, 9)
TOKENS = 96


def rows_of(model, text: list[int], prompt: int, rows: int) -> np.ndarray:
    """[answer tokens, vocabulary]: the logits for each token, by passes over `rows` rows."""
    import mlx.core as mx
    from mlx_lm.models.cache import make_prompt_cache

    cache = make_prompt_cache(model)
    model(mx.array([text[: prompt - 1]]), cache=cache)
    passes = [
        model(mx.array([text[at : min(at + rows, len(text) - 1)]]), cache=cache)[0].astype(mx.float32)
        for at in range(prompt - 1, len(text) - 1, rows)
    ]
    return np.array(mx.concatenate(passes))


def compared(exact: np.ndarray, other: np.ndarray) -> dict[str, float | int]:
    """The differences of the logits, and the loss, by `exact`, of choosing `other`'s largest logit."""
    largest = np.abs(exact).max(axis=1)
    moved = np.abs(exact - other).max(axis=1) / largest
    lost = (exact.max(axis=1) - exact[np.arange(len(exact)), other.argmax(axis=1)]) / largest
    return {
        "places": len(exact),
        "median": float(np.median(moved)),
        "99 %": float(np.quantile(moved, 0.99)),
        "most": float(moved.max()),
        "other choices": int((lost > 0).sum()),
        "margin at most": float(lost.max()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--target")
    asked = parser.parse_args()
    prepare()  # before MLX is imported: it chooses the BLAS library
    import mlx.core as mx
    from mlx.utils import tree_map

    from benchmarks.peers.ours import OurSide

    side = OurSide(asked.target, "none" if asked.target else None, tune=False)
    engine = side.pair.engine
    model = engine.target.model
    texts: list[tuple[list[int], int]] = []
    for prompt in read_prompts():
        ids, stops = side.encode(prompt.messages)
        engine.forget()
        options = Options(max_tokens=TOKENS, stop_tokens=frozenset(stops), drafter="none", draft_length=0)
        text = [*ids, *(token for read in engine.generate(ids, options) for token in read.tokens)]
        texts.append((text, len(ids)))
    weights = model.parameters()
    logits: dict[tuple[str, int], np.ndarray] = {}
    for name in PRECISIONS:
        precision = getattr(mx, name)
        model.update(
            tree_map(
                lambda a, p=precision: a.astype(p) if mx.issubdtype(a.dtype, mx.floating) else a, weights
            )
        )
        for rows in ROWS:
            logits[name, rows] = np.concatenate([rows_of(model, *text, rows) for text in texts])
    pairs = [((name, 1), (name, rows)) for name in PRECISIONS for rows in ROWS[1:]]
    pairs += [(("float32", 1), (name, 1)) for name in PRECISIONS if name != "float32"]
    results = {}
    for (name, rows), (other, others) in pairs:
        title = f"{name}, {rows} row beside {other}, {others}"
        results[title] = compared(logits[name, rows], logits[other, others])
        print(title, ", ".join(f"{what} {value:.2g}" for what, value in results[title].items()))
    print(json.dumps(results))


if __name__ == "__main__":
    main()
