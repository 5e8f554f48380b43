"""Colours: the program's own themes, and readable text in every theme.

Mint marks accepted tokens, apricot the target's own: the program's two colours.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache

from rich.color import ColorSystem
from textual.color import BLACK, WHITE, Color
from textual.theme import BUILTIN_THEMES, Theme

TEXT_CONTRAST = 4.5
"""Least contrast of text to its background (WCAG 2.2, 1.4.3)."""
EDGE_CONTRAST = 3.0
"""Least contrast of frames and of a scrollbar in use (1.4.11)."""

DARK = Theme(
    name="mlx-spec",
    primary="#56d9b9",
    secondary="#9db2ff",
    accent="#56d9b9",
    success="#56d9b9",
    warning="#f2b477",
    error="#ff8a8f",
    foreground="#d9e0e6",
    background="#0f1317",
    surface="#171d23",
    panel="#1f272f",
    boost="#ffffff0a",
)
LIGHT = Theme(
    name="mlx-spec-light",
    primary="#00745f",
    secondary="#4056b5",
    accent="#00745f",
    success="#00745f",
    warning="#8a4b00",
    error="#b0263c",
    foreground="#20272e",
    background="#fbfaf6",
    surface="#f3f1ea",
    panel="#e9e6dc",
    boost="#0000000a",
    dark=False,
)
OWN_THEMES = (DARK, LIGHT)
THEME_NAMES = (*(theme.name for theme in OWN_THEMES), *BUILTIN_THEMES)

_ROLES = ("primary", "secondary", "accent", "success", "warning", "error")
_TEXTS = ("foreground", "footer-foreground", "footer-description-foreground", "footer-key-foreground",
          "block-cursor-foreground", "block-cursor-blurred-foreground", "button-foreground",
          *(f"markdown-h{level}-color" for level in range(1, 7)))  # fmt: skip
_TINT, _HOVER, _BAR, _QUIET = 0.16, 0.06, 0.25, 0.62
"""Shares: of a colour in a tinted background, as the chosen row's; of the text colour in the row under the
mouse, in a scrollbar, in muted text."""


@lru_cache(4096)  # of some twenty grounds, asked for hundreds of times at each start
def luminance(colour: Color) -> float:
    """Relative luminance, from 0 for black to 1 for white (WCAG 2.2)."""
    linear = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in colour.normalized)
    return sum(weight * c for weight, c in zip((0.2126, 0.7152, 0.0722), linear, strict=True))


def in_256(colour: Color) -> Color:
    """The colour that a terminal with 256 colours is given in its place."""
    return Color.from_rich_color(colour.rich_color.downgrade(ColorSystem.EIGHT_BIT))


def contrast(one: Color, other: Color, *, of_256: bool = False) -> float:
    """From 1 for the same colour to 21 for black on white (WCAG 2.2); `of_256`: as 256 colours have them."""
    if of_256:
        one, other = in_256(one), in_256(other)
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def standing_out(
    colour: Color, grounds: Sequence[Color], ratio: float, *, dark: bool, of_256: bool = False
) -> Color:
    """The colour, made lighter on dark grounds and darker on light ones until it has the contrast to all."""
    end = WHITE if dark else BLACK
    steps = (colour.blend(end, step / 20, alpha=1.0) for step in range(21))
    enough = (c for c in steps if all(contrast(c, g, of_256=of_256) >= ratio for g in grounds))
    return next(enough, end)


def readable(theme: Theme, variables: Mapping[str, str], *, of_256: bool = False) -> dict[str, str]:
    """A theme's variables, with readable text colours and the program's rows, frames and scrollbars.

    Of the terminal's own colours (`ansi-dark`, `ansi-light`) nothing is known but that texts can be read on
    its background: tints, which are the colours themselves there, and the chosen row have that one.

    `of_256`: grey grounds and rows, for a terminal with 256 colours. It has 24 greys, but hardly another dark
    or pale colour: of tinted grounds some would all be black, others yellow or teal.
    """
    found = dict(variables)
    if theme.ansi:
        own = (*(f"{role}-muted" for role in _ROLES), "block-cursor-background", "block-cursor-foreground")
        return found | dict.fromkeys(own, "ansi_default")

    def greyed(colour: Color) -> Color:
        return colour.monochrome if of_256 else colour

    background, surface, panel = (
        greyed(Color.parse(found[name])) for name in ("background", "surface", "panel")
    )
    plain, accent = Color.parse(found["foreground"]), Color.parse(found["accent"])
    tints = {role: greyed(surface.blend(Color.parse(found[role]), _TINT, alpha=1.0)) for role in _ROLES}
    row, hover = tints["accent"], greyed(surface.blend(plain, _HOVER, alpha=1.0))
    found |= {f"{role}-muted": tint.hex for role, tint in tints.items()}
    found |= {
        "background": background.hex,
        "surface": surface.hex,
        "panel": panel.hex,
        "block-cursor-background": row.hex,
        "block-cursor-blurred-background": hover.hex,
        "block-hover-background": hover.hex,
        "block-cursor-text-style": "bold",
        "block-cursor-foreground": plain.hex,
        "block-cursor-blurred-foreground": plain.hex,
        "footer-background": background.hex,
        "screen-selection-background": row.hex,
        "input-selection-background": row.hex,
        "input-cursor-background": plain.hex,
        "input-cursor-foreground": background.hex,
    }
    grounds = [background, surface, panel, hover, *tints.values()]
    if found["boost"] != "transparent":
        grounds += [ground + Color.parse(found["boost"]) for ground in (background, surface)]

    def text(colour: Color) -> str:
        return standing_out(colour, grounds, TEXT_CONTRAST, dark=theme.dark, of_256=of_256).hex

    found |= {f"text-{role}": text(Color.parse(found[role])) for role in _ROLES}
    found |= {name: text(background + Color.parse(found[name])) for name in _TEXTS}
    quiet = text(background.blend(plain, _QUIET, alpha=1.0))
    found |= dict.fromkeys(("foreground-muted", "text-muted", "text-disabled", "foreground-disabled"), quiet)

    def edge(colour: Color) -> str:
        return standing_out(colour, grounds[:2], EDGE_CONTRAST, dark=theme.dark, of_256=of_256).hex

    bar = background.blend(plain, _BAR, alpha=1.0)
    found |= {"border": edge(accent), "border-blurred": edge(bar)}
    for state in ("", "-hover", "-active"):
        found[f"scrollbar{state}"] = edge(bar) if state else bar.hex
        found[f"scrollbar-background{state}"] = background.hex
    return found
