"""Runs the terminal app; returns an exit code."""

import sys
from dataclasses import replace
from typing import TYPE_CHECKING

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.settings.config import Config, bad_value, one_of, read_config
from app.shell import exit_codes
from app.shell.number_text import counted
from app.shell.output import talk
from app.tui.app import ChatApp
from app.tui.keys.keymap import checked_keys
from app.tui.terminal.any_bytes import read_any_bytes
from app.tui.terminal.whole_pastes import read_pastes_whole
from app.tui.theme import THEME_NAMES
from models.pairs.pair import PairSpec
from models.paths import data_folder

if TYPE_CHECKING:
    from app.engine.server_client import ServerClient


def run_chat(
    pair: PairSpec,
    settings: Settings,
    resume: str | None = None,
    *,
    is_kept: bool = True,
    welcomes: bool = False,
    server: "ServerClient | None" = None,
) -> int:
    """Open the chat on this terminal, a saved one if `resume` names it; returns the exit code.

    `is_kept`: the first chat is saved.

    `welcomes`: no pair was named, so the first start explains the built-in one.

    `server`: answers instead of an engine process.

    The engine process starts first, so that the pair loads while the screen is drawn.
    """
    link = EngineLink(server or EngineClient(data_folder() / "engine.log"), pair)
    link.start()
    try:
        app = ChatApp(link, settings, checked(read_config()), resume, is_kept=is_kept, welcomes=welcomes)
        read_any_bytes()
        read_pastes_whole()
        draw_where_it_is_seen()
        app.run()
        if app.unsaved:
            where = f" What is missing is in {app.leaving.rescue}." if app.leaving.rescue else ""
            talk(f"{counted(app.unsaved, 'message')} could not be saved in {app.history.path}.{where}")
        return exit_codes.MACHINE_FAILED if app.return_code else exit_codes.DONE
    finally:
        link.close()


def checked(config: Config) -> Config:
    """The config without an invalid theme or keys, which only the screens know; problems say why."""
    problems = list(config.problems)
    values = dict(config.values)
    if config["theme"] not in THEME_NAMES:
        problems.append(
            bad_value(config.file, "theme", config["theme"], one_of(config["theme"], list(THEME_NAMES)))
        )
        del values["theme"]
    keys, wrong = checked_keys(config.file, config.keys)
    return replace(config, values=values, keys=keys, problems=(*problems, *wrong))


def draw_where_it_is_seen() -> None:
    """Have Textual draw on stdout if stderr, where it usually draws, is closed or redirected (`2>file`)."""
    if sys.__stderr__ is None or not sys.__stderr__.isatty():
        sys.__stderr__ = sys.__stdout__  # type: ignore[misc]  # the one place Textual looks at
