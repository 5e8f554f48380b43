"""Extracting a target's multi-token prediction (MTP) layers from its original files."""

import json
from pathlib import Path

import mlx.core as mx

from models.errors import BrokenFiles, MachineTrouble, is_full_disk, reason_of
from models.files import locked, replacing_folder
from models.pairs.folder import read_config
from models.pairs.original_mtp import MTP, WEIGHTS, mtp_files
from models.pairs.own_drafters import own_place, whole_name
from models.pairs.pair import Source


def take_mtp(folder: Path, target: Source, original: Source) -> None:
    """Write the MTP layers of the original repository in `folder` to the target's own drafters, replacing an
    old copy. Tensors are unchanged.

    Raises:
        BrokenFiles: a file lacks a tensor that the index names.
        MachineTrouble: they cannot be written.
    """
    place, taken = own_place(target, MTP), dict[str, mx.array]()
    for file, names in mtp_files(folder).items():
        found: dict[str, mx.array] = mx.load(str(folder / file))  # type: ignore[assignment]
        if missing := sorted(set(names) - found.keys()):
            raise BrokenFiles(f"{file} in {folder} does not hold {missing[0]}, which the index names.")
        taken |= {name: found[name] for name in names}
    config = read_config(folder)
    about = {"target": whole_name(target), "from": str(original)}
    named = config | {"model_type": f"{config.get('model_type')}_{MTP}", "mlx_spec": about}
    try:
        with locked(place.parent), replacing_folder(place) as folder:
            mx.save_safetensors(str(folder / WEIGHTS), taken, {"format": "mlx"})
            (folder / "config.json").write_text(json.dumps(named, indent=1) + "\n")
    except (OSError, RuntimeError) as error:
        why = "the disk is full" if is_full_disk(error) else reason_of(error)
        raise MachineTrouble(
            f"The layers taken from {original} cannot be written to {place}: {why}. Make room there, or set "
            "MLX_SPEC_HOME to another folder, and pull again: the downloaded part is kept."
        ) from error
