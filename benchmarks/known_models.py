"""Models of shapes.toml by name, for predictions."""

from models.speed.roofline import Model, find_shape, format_bits


def known_model(name: str, format_name: str = "4-bit") -> Model:
    shape = find_shape(name)
    assert shape is not None, f"shapes.toml lacks {name}"
    return Model(shape, format_bits(format_name))
