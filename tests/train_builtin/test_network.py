"""The torch network and its MLX export compute the same."""

import mlx.core as mx
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="torch is not installed: pip install -e '.[train]'")

from train_builtin.export import mlx_model  # noqa: E402
from train_builtin.network import Cache, Network, Shape  # noqa: E402

SHAPE = Shape(layers=2, hidden=64, intermediate=128, heads=4, kv_heads=2, vocab=96, context=128)


@pytest.fixture
def network() -> Network:
    torch.manual_seed(0)
    return Network(SHAPE).eval()


def test_torch_logits_equal_mlx_logits(network: Network):
    ids = torch.randint(0, SHAPE.vocab, (2, 100))
    with torch.no_grad():
        expected = network(ids).numpy()
    found = np.array(mlx_model(network)(mx.array(ids.numpy())))
    np.testing.assert_allclose(found, expected, atol=1e-4)


@torch.no_grad()
def test_answering_in_a_padded_batch_equals_reading_each_text_alone(network: Network):
    texts = [torch.randint(0, SHAPE.vocab, (1, length)) for length in (20, 13)]
    padding = torch.tensor([0, 7])
    ids = torch.cat([texts[0], torch.cat([torch.zeros(1, 7, dtype=torch.long), texts[1]], 1)])
    positions = (torch.arange(20)[None] - padding[:, None]).clamp(min=0)
    caches = [Cache(padding) for _ in network.layers]
    first = network(ids, caches, positions)[:, -1]
    following = torch.tensor([[5], [6]])
    second = network(following, caches, positions[:, -1:] + 1)[:, -1]
    for row, text in enumerate(texts):
        longer = torch.cat([text, following[row : row + 1]], 1)
        torch.testing.assert_close(first[row], network(text)[0, -1], atol=1e-4, rtol=0)
        torch.testing.assert_close(second[row], network(longer)[0, -1], atol=1e-4, rtol=0)
