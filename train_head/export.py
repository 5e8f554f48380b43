"""Writes a trained head as `models/heads` has it, in 8 bits."""

import argparse
import json
from pathlib import Path

import mlx.core as mx
import numpy as np

from models.load.checkpoint import read_config
from models.load.eagle import eagle_head, save_eagle
from models.load.engine import load
from models.load.heads import load_head
from models.pairs.resolve import resolve

BITS = 8


def main(arguments: list[str]) -> None:
    """The stage `export`."""
    parser = argparse.ArgumentParser(prog="python -m train_head export")
    parser.add_argument("work", type=Path)
    parser.add_argument("folder", type=Path, help="to write, empty")
    parser.add_argument("--pair", default="smollm2-135m")
    parser.add_argument("--start", type=Path, default=Path("models/heads/smollm2-135m"))
    parser.add_argument("--about", type=json.loads, default={}, help="JSON for config.json's mlx_spec")
    given = parser.parse_args(arguments)
    given.folder.mkdir(parents=True)
    target = load(resolve(given.pair, None, None)).engine.target.model
    config = {k: v for k, v in read_config(given.start).items() if k != "quantization"}
    known = mx.load(str(given.start / "model.safetensors"))
    (given.work / "start").mkdir(exist_ok=True)
    learnt = {name: mx.array(each) for name, each in np.load(given.work / "head.npz").items()}
    file = given.work / "start" / "model.safetensors"
    mx.save_safetensors(str(file), {**learnt, "d2t": known["d2t"], "t2d": known["t2d"]})
    (given.work / "start" / "config.json").write_text(json.dumps(config))
    head = load_head(given.work / "start", target, {}, eagle_head)
    save_eagle(given.folder, head, {"mlx_spec": {**config["mlx_spec"], **given.about}}, BITS)
