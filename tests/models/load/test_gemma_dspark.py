"""DSpark heads for Gemma 4, in DeepSpec's format, draft by their equations."""

from dataclasses import dataclass, replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import mlx.core as mx
import numpy as np
import pytest
from mlx.utils import tree_flatten, tree_map
from mlx_lm.models.qwen3 import ModelArgs

from mlx_spec import Engine
from mlx_spec.arrays import Length, Pass
from mlx_spec.drafters.dflash_head import DFlashHead, DFlashShape
from mlx_spec.drafters.gemma_block import GemmaBlockLayer
from mlx_spec.target.model import Model
from models.errors import BrokenFiles
from models.load.drafters import LOADERS
from models.pairs.folder import check_drafter
from tests.mlx_spec.assistant_heads import target
from tests.mlx_spec.dflash_heads import taught
from tests.mlx_spec.equations import DFlash, Sizes, arrays, attended, by_head, gemma_layer, normed, turned
from tests.mlx_spec.proposals import proposed
from tests.mlx_spec.tiny_models import VOCAB, prompt, ragged, settled, text
from tests.models.drafter_folders import edit_config, edit_tensors, write_folder

PROMPT, MASK, EPS = prompt(9, 1), 4, 1e-6
ROPE = {"rope_type": "proportional", "rope_theta": 1_000_000.0, "partial_rotary_factor": 0.25}
TAPS = (0, 1, 3)


def shape(kv_heads: int, vocab: int = VOCAB) -> DFlashShape:
    args = ModelArgs("qwen3", 32, 2, 64, 4, EPS, vocab, kv_heads, 2048, 16, False, 10000.0)
    all_tokens = tuple(range(vocab))
    return DFlashShape(
        args, TAPS, all_tokens, MASK, 5, (None,) * 2, (False,) * 2, True, markov_rank=8, softcap=30.0
    )


def head_for(own_values: bool, rank: int = 8, model: Any = None) -> DFlashHead:
    """A random head; no norm weight is 1."""

    def layer(shape: DFlashShape) -> GemmaBlockLayer:
        return GemmaBlockLayer(shape.args, ROPE, own_values)

    model = model or target()
    sizes = replace(shape(2 if own_values else 1, model.args.vocab_size), markov_rank=rank)
    head: Any = settled(DFlashHead(sizes, model, layer), 5, spread=1.0)
    keys = iter(mx.random.split(mx.random.key(5), 80))
    head.update(tree_map(lambda x: x + 0.2 * mx.random.normal(x.shape, key=next(keys)), head.parameters()))
    return head


def publish(folder: Path, head: DFlashHead, own_values: bool, **changes: Any) -> Path:
    """With a copy of the target's config, and copies of its embedding and output matrix."""
    weights: dict[str, mx.array] = dict(tree_flatten(head.parameters()))  # type: ignore[arg-type]
    vocab = head.shape.args.vocab_size
    weights |= {f"{name}.weight": mx.ones((vocab, 32)) for name in ("embed_tokens", "lm_head")}
    weights |= {"confidence_head.proj.weight": mx.ones((1, 40)), "confidence_head.proj.bias": mx.ones((1,))}
    config = {
        "architectures": ["Gemma4DSparkModel"], "model_type": "gemma4_text", "hidden_size": 32,
        "intermediate_size": 64, "num_hidden_layers": 2, "num_attention_heads": 4, "num_key_value_heads": 2,
        "num_global_key_value_heads": 1, "head_dim": 8, "global_head_dim": 16, "vocab_size": vocab,
        "attention_k_eq_v": not own_values, "layer_types": ["full_attention"] * 2, "sliding_window": 24,
        "rms_norm_eps": EPS, "rope_parameters": {"full_attention": ROPE, "sliding_attention": {}},
        "max_position_embeddings": 2048, "final_logit_softcapping": 30.0, "block_size": 5, "markov_rank": 8,
        "markov_head_type": "vanilla", "enable_confidence_head": True, "mask_token_id": MASK,
        "target_layer_ids": list(TAPS), "num_target_layers": 5,
    }  # fmt: skip
    return write_folder(folder, config | changes, weights)


@cache
def tapped() -> Model:
    return Model(target(), taps=TAPS)


def states_of(ids: list[int]) -> list[np.ndarray]:
    output = tapped().forward(Pass(mx.array([ids]), Length.exact(0)))
    return [np.array(output.hidden[layer][0]) for layer in TAPS]


@dataclass(frozen=True, slots=True)
class ByHand(DFlash):
    """With Gemma's layers."""

    def hidden(self, taps: list[np.ndarray], block: list[int]) -> np.ndarray:
        w, x = self.w, self.embedding[block]
        read = normed(np.concatenate(taps, axis=-1) @ w["fc.weight"].T, w["hidden_norm.weight"], EPS)
        for i in range(2):
            at = f"layers.{i}"
            x = gemma_layer(w, at, x, partial(self._gemma, f"{at}.self_attn", read), EPS)
        return normed(x, w["norm.weight"], EPS)

    def _gemma(self, at: str, read: np.ndarray, block: np.ndarray) -> np.ndarray:
        w, both = self.w, np.concatenate([read, block])
        values = w.get(f"{at}.v_proj.weight", w[f"{at}.k_proj.weight"])
        heads = self.sizes.kv_heads
        q = normed(by_head(block @ w[f"{at}.q_proj.weight"].T, 4), w[f"{at}.q_norm.weight"], EPS)
        k = normed(by_head(both @ w[f"{at}.k_proj.weight"].T, heads), w[f"{at}.k_norm.weight"], EPS)
        v = normed(by_head(both @ values.T, heads), np.ones(16), EPS)
        places = np.arange(len(both))
        # A quarter of the pairs are rotated, and every row of the block sees all.
        q, k = (turned(x, at, 1e6, turns=2) for x, at in ((q, places[len(read) :]), (k, places)))
        return attended(q, k, v, True, scale=1.0) @ w[f"{at}.o_proj.weight"].T

    def draft(self, taps: list[np.ndarray], text: list[int], depth: int) -> tuple[np.ndarray, list[int]]:
        """The table is added to logits that the soft cap has bounded."""
        block = [text[-1], *[self.mask] * (depth - 1)]
        logits = self.hidden(taps, block) @ self.rows.T
        logits, drafted = np.tanh(logits / 30) * 30, [text[-1]]
        for i in range(depth):
            table = self.w["markov_head.markov_w2.weight"]
            logits[i] += table @ self.w["markov_head.markov_w1.weight"][drafted[-1]]
            drafted.append(int(logits[i].argmax()))
        return logits, drafted[1:]


@pytest.mark.parametrize("own_values", [False, True])
def test_its_drafts_are_those_of_its_equations(own_values: bool, tmp_path: Path) -> None:
    head, model = head_for(own_values), target()
    folder = publish(tmp_path / "head", head, own_values)
    assert check_drafter(folder) == "dspark"
    drafter = LOADERS["dspark"](folder, model, {})
    assert drafter.head.shape == shape(2 if own_values else 1)
    table = np.array(model.model.embed_tokens.weight)
    weights = arrays(dict(tree_flatten(head.parameters())))  # type: ignore[arg-type]
    by_hand = ByHand(weights, table * np.sqrt(32), table, Sizes(4, 2 if own_values else 1, EPS), MASK, True)
    engine = Engine(model, [drafter], context_limit=400)
    rounds = proposed(engine, PROMPT, "dspark", max_tokens=9, draft_length=4)
    assert len(rounds) > 4
    for one in rounds:
        assert one.is_near(*by_hand.draft(states_of(one.before[:-1]), one.before, len(one.read.drafted)))


def test_a_second_turn_and_three_ragged_texts_are_those_of_plain_decoding(tmp_path: Path) -> None:
    drafter = LOADERS["dspark"](publish(tmp_path / "head", head_for(False), False), target(), {})
    engine = Engine(target(), [drafter], context_limit=400)
    first = text(engine, PROMPT, max_tokens=8, drafter="dspark", draft_length=4)
    longer = PROMPT + first[:5] + prompt(5, 3)
    for t in (0.0, 0.8):
        drafted = text(engine, longer, max_tokens=8, temperature=t, drafter="dspark", draft_length=4)
        assert drafted == text(engine, longer, max_tokens=8, temperature=t, drafter="none")
    ragged(engine, "dspark")


def test_a_trained_one_is_often_right_and_one_that_is_read_wrongly_is_not(tmp_path: Path) -> None:
    written = PROMPT + text(Engine(target(), context_limit=400), PROMPT, max_tokens=24)
    read = [mx.array(x[None]) for x in states_of(written)]
    # Without a Markov table, which could predict this text by its pairs of tokens.
    learned = taught(head_for(False, 0), [written], [read], len(PROMPT), 14)
    folder = publish(tmp_path / "head", learned, False, markov_rank=0)

    def first_two(**changes: Any) -> tuple[float, float]:
        drafter = LOADERS["dspark"](edit_config(folder, **changes), target(), {})
        engine = Engine(target(), [drafter], context_limit=400)
        rounds = proposed(engine, PROMPT, "dspark", max_tokens=18, draft_length=3)
        first, second = (np.mean([one.read.accepted >= n for one in rounds]) for n in (1, 2))
        return float(first), float(second)

    first, second = first_two()
    assert first > 0.7 and second > 0.5
    assert first_two(sample_from_anchor=False)[0] < first - 0.2, "slots counted otherwise"
    edit_tensors(folder, lambda tensors: tensors.update({"hidden_norm.weight": mx.zeros(32)}))
    assert first_two(sample_from_anchor=True)[0] < first - 0.2, "blind for what the target makes of the text"


def test_heads_of_other_models_and_damaged_ones_are_refused_by_name(tmp_path: Path) -> None:
    for changes, message in (
        ({"global_head_dim": None}, "its global_head_dim is None"),
        ({"rope_parameters": {"full_attention": ROPE | {"rope_theta": "1e6"}}}, "its rope_theta is .1e6."),
        ({"num_global_key_value_heads": None}, "its num_global_key_value_heads is None"),
        ({"architectures": ["Qwen3DSparkModel"]}, "does not match its config.json"),
    ):
        folder = publish(tmp_path / "head", head_for(False), False, **changes)
        with pytest.raises(BrokenFiles, match=message):
            LOADERS["dspark"](folder, target(), {})


def test_heads_of_speculators_read_gemmas_embeddings_without_their_factor(tmp_path: Path) -> None:
    """speculators keeps the rows in a plain embedding layer; z-lab's and DeepSpec's code multiplies them."""
    layers = {
        "model_type": "qwen3", "hidden_size": 32, "intermediate_size": 64, "num_attention_heads": 4,
        "num_key_value_heads": 2, "head_dim": 16, "num_hidden_layers": 2, "rms_norm_eps": EPS,
        "vocab_size": VOCAB, "max_position_embeddings": 512,
    }  # fmt: skip
    own = {"mask_token_id": MASK, "block_size": 5}
    theirs = {
        "speculators_model_type": "dflash", "transformer_layer_config": layers, **own,
        "aux_hidden_state_layer_ids": [tap + 1 for tap in TAPS],
    }  # fmt: skip
    divided = {"input_embedding_scale": 32**-0.5, "target_layer_ids": list(TAPS), **own}
    made = settled(DFlashHead(replace(shape(2), markov_rank=0, softcap=None), target()), 5, spread=1.0)
    weights: dict[str, mx.array] = dict(tree_flatten(made.parameters()))  # type: ignore[arg-type]
    drafts = []
    for name, config in (("theirs", theirs), ("divided", {**layers, "dflash_config": divided})):
        drafter = LOADERS["dflash"](write_folder(tmp_path / name, config, weights), target(), {})
        engine = Engine(target(), [drafter], context_limit=400)
        drafts.append(next(iter(proposed(engine, PROMPT, "dflash", max_tokens=8, draft_length=4))).logits)
    assert np.allclose(*drafts, atol=1e-4)
