"""The chat with settings from config.toml."""

from pathlib import Path

from textual.command import CommandPalette
from textual.widgets import OptionList

from tests.app.tui.chat_driver import OpenChat


async def test_a_mistaken_theme_is_told_and_one_chosen_in_the_palette_holds_in_the_next_run_too(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    file = tmp_path / "config.toml"
    file.write_text("# mine\nmarks = true  # always\ntheme = 'nordd'\n")
    async with open_chat() as chat:
        await chat.noticed("nord?")
        assert chat.app.theme == "mlx-spec"
        await chat.type("/theme")
        await chat.reached(CommandPalette)
        await chat.shows("mlx-spec-light", "ansi-dark")
        rows = [row.strip() for row in chat.screen.splitlines()]
        first = rows.index("mlx-spec")
        assert rows[first + 1 : first + 4] == ["in use", "mlx-spec-light", "ansi-dark"], "our own come first"
        await chat.press(*"gruvbox")
        options = chat.app.screen.query_one(OptionList)
        await chat.until(lambda: options.option_count == 1)
        await chat.press("enter")
        await chat.until(lambda: chat.app.theme == "gruvbox")
        await chat.until(lambda: any("config.toml" in one.message for one in chat.app._notifications))
    assert file.read_text() == '# mine\nmarks = true  # always\ntheme = "gruvbox"\n'
    async with open_chat() as chat:
        assert chat.app.theme == "gruvbox"
        file.write_text("theme = [")
        chat.app.theme = "nord"
        await chat.noticed("nord is used until you leave")
    assert file.read_text() == "theme = ["
