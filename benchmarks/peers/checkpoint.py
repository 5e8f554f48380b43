"""Converting mlx-lm's checkpoints, quantized or not, to float32 ones for transformers."""

import json
from pathlib import Path


def write_float32(source: Path, folder: str, name: str) -> str:
    """Write `folder/name` from the model in `source`; returns its path.

    Weights keep mlx-lm's names, which are transformers' own for dense models. The caller has to check that
    both generate the same text.
    """
    import mlx.core as mx
    from mlx.utils import tree_flatten
    from mlx_lm.utils import dequantize_model, load_model

    model, _ = load_model(source)
    model = dequantize_model(model)
    model.set_dtype(mx.float32)
    out = Path(folder) / name
    out.mkdir(parents=True)
    weights = dict(tree_flatten(model.parameters()))
    mx.save_safetensors(str(out / "model.safetensors"), weights, metadata={"format": "pt"})
    config = json.loads((source / "config.json").read_text(encoding="utf-8"))
    for stale in ("quantization", "quantization_config", "torch_dtype", "dtype"):
        config.pop(stale, None)
    (out / "config.json").write_text(json.dumps({**config, "dtype": "float32"}), encoding="utf-8")
    return str(out)
