"""Tiny random models, and the texts of engines made of them."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import cache

import mlx.core as mx
import mlx.nn as nn
import mlx.optimizers as optimizers
from mlx.utils import tree_flatten, tree_map
from mlx_lm.generate import generate_step
from mlx_lm.models import llama

from mlx_spec import Engine, Options, Round
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.target.model import Model

VOCAB = 120


@cache
def normals(seed: int, shapes: tuple[tuple[int, ...], ...]) -> list[mx.array]:
    """Cached: drawing is the slowest part of making a model, and many tests make the same one."""
    keys = mx.random.split(mx.random.key(seed), 500)
    found = [mx.random.normal(shape, key=key) for shape, key in zip(shapes, keys, strict=False)]
    mx.eval(found)
    return found


def each_matrix(model: nn.Module, seed: int, change: Callable[[mx.array, mx.array], mx.array]) -> nn.Module:
    """Change each matrix of a model, given normal noise of its shape."""
    arrays = dict(tree_flatten(model.parameters())).values()
    drawn = iter(normals(seed, tuple(x.shape for x in arrays if x.ndim > 1)))

    def changed(x: mx.array) -> mx.array:
        return change(x, next(drawn)) if x.ndim > 1 else x

    model.update(tree_map(changed, model.parameters()))
    mx.eval(model.parameters())
    return model


def settled(model: nn.Module, seed: int, spread: float = 3.0) -> nn.Module:
    """Random weights from a seed; wider than at initialisation, so that texts vary and ties are rare."""
    return each_matrix(model, seed, lambda x, normal: normal * spread * x.shape[-1] ** -0.5)


def fitted(model: nn.Module, loss: Callable[[], mx.array], rounds: int, rate: float) -> None:
    """Train a model for some rounds."""
    optimizer, gradient = optimizers.Adam(rate), nn.value_and_grad(model, loss)
    for _ in range(rounds):
        optimizer.update(model, gradient()[1])
        mx.eval(model.parameters(), optimizer.state)


def tiny_llama(
    seed: int = 0, layers: int = 2, vocab: int = VOCAB, dim: int = 32, heads: int = 4, **more
) -> nn.Module:
    args = llama.ModelArgs(
        model_type="llama", hidden_size=dim, num_hidden_layers=layers, intermediate_size=2 * dim,
        num_attention_heads=heads, num_key_value_heads=heads // 2, rms_norm_eps=1e-5, vocab_size=vocab, **more
    )  # fmt: skip
    return settled(llama.Model(args), seed)


def one_layer(seed: int = 0) -> nn.Module:
    """For tests that do not depend on layers; the other models show that every layer is rewound."""
    return tiny_llama(seed, layers=1)


def prompt(length: int, seed: int = 0, vocab: int = VOCAB) -> list[int]:
    ids: list[int] = mx.random.randint(1, vocab, (length,), key=mx.random.key(seed)).tolist()  # type: ignore[assignment]
    return ids


def tokens(rounds: Iterable[Round]) -> list[int]:
    return [token for read in rounds for token in read.tokens]


def must_draft(options: Options) -> bool:
    """Whether a text longer than a few tokens cannot do without a draft; lookup may find no match."""
    named = options.draft_length and options.drafter not in ("none", "lookup")
    return bool(named) or options.drafter == "model"


def text(engine: Engine, ids: list[int], **options) -> list[int]:
    """The whole answer to `ids` with these `Options`."""
    rounds = list(engine.generate(ids, Options(**options)))
    if must_draft(Options(**options)) and len(tokens(rounds)) > 3:
        assert any(read.drafted for read in rounds), "nothing was drafted"
    return tokens(rounds)


def together(engine: Engine, prompts: list[list[int]], options: list[Options]) -> list[list[Round]]:
    """The rounds of each text of a batch."""
    rounds: list[list[Round]] = [[] for _ in prompts]
    for i, read in engine.generate_batch(prompts, options):
        rounds[i].append(read)
    drafted = any(read.drafted for text in rounds for read in text)
    assert drafted or not any(map(must_draft, options)), "nothing was drafted"
    return rounds


def ragged(engine: Engine, drafter: str, draft_length: int = 3) -> int:
    """Check that three texts of different lengths are those of single runs. Returns accepted tokens."""
    prompts = [prompt(9, 1), prompt(20, 2), prompt(4, 3)]
    sampled = [Options(max_tokens=n, seed=n, temperature=t) for n, t in ((12, 0.0), (5, 0.8), (24, 0.8))]
    drafted = [replace(each, drafter=drafter, draft_length=draft_length) for each in sampled]
    found = together(engine, prompts, drafted)
    for ids, each, rounds in zip(prompts, sampled, found, strict=True):
        assert tokens(rounds) == tokens(engine.generate(ids, replace(each, drafter="none")))
    return sum(read.accepted for rounds in found for read in rounds)


def reference(model: nn.Module, ids: list[int], count: int, **processors) -> list[int]:
    """mlx-lm's own greedy text."""
    return [int(token) for token, _ in generate_step(mx.array(ids), model, max_tokens=count, **processors)]


def draft_model(engine: Engine) -> Model:
    """The draft model of an engine made by `engine_of`."""
    return engine.drafters[-1].models[0]


def engine_of(target: nn.Module, draft: nn.Module | None = None, **options) -> Engine:
    """An engine with lookup and, if there is a draft model, that."""
    drafters = [LookupDrafter(), *([ModelDrafter(draft)] if draft is not None else [])]
    return Engine(target, drafters, **options)
