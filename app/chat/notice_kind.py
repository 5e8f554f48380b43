"""How much a line from the program itself weighs."""

from typing import Literal

Kind = Literal["info", "warning", "error"]
