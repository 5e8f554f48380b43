"""The kernel-relevant shape, read from config.json."""

import pytest

from mlx_spec.policy.kernels import TargetShape
from models.load.configuration import target_shape

LLAMA = {"num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096, "intermediate_size": 14336}


@pytest.mark.parametrize(
    ("config", "group", "mode"),
    [
        (LLAMA, 4, None),
        ({**LLAMA, "quantization": {"bits": 4, "group_size": 64}}, 4, "affine"),
        ({**LLAMA, "quantization": {"bits": 4, "mode": "mxfp4"}}, 4, "mxfp4"),
        ({"text_config": LLAMA, "num_attention_heads": 1}, 4, None),
        ({**LLAMA, "num_key_value_heads": None}, 1, None),
    ],
)
def test_the_shape_of_a_configuration(config, group, mode):
    assert target_shape(config) == TargetShape(group, ((4096, 4096), (4096, 14336)), mode)


@pytest.mark.parametrize("config", [{}, {"num_attention_heads": 4}, {**LLAMA, "num_key_value_heads": 64}])
def test_a_configuration_without_attention_heads_has_no_shape(config):
    assert target_shape(config) is None
