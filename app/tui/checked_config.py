"""The parts of config.toml that only the screens can judge: themes and keys."""

from dataclasses import replace

from textual.theme import BUILTIN_THEMES

from app.settings.config import Config, bad_value, one_of
from app.tui.keys.keymap import checked_keys


def checked(config: Config) -> Config:
    """The same without a theme or keys that cannot be used; the problems say which."""
    problems = list(config.problems)
    values = dict(config.values)
    if config["theme"] not in BUILTIN_THEMES:
        problems.append(
            bad_value(config.file, "theme", config["theme"], one_of(config["theme"], list(BUILTIN_THEMES)))
        )
        del values["theme"]
    keys, wrong = checked_keys(config.file, config.keys)
    return replace(config, values=values, keys=keys, problems=(*problems, *wrong))
