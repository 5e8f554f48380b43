"""Presets: instructions and sampling by name."""

from dataclasses import replace

from app.settings.options import AnswerOptions
from tests.app.tui.chat_driver import OpenChat


async def test_a_preset_is_kept_listed_used_and_deleted(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        for command in ("/system Be terse.", "/temperature 0.3", "/preset save terse", "/system none"):
            await chat.type(command)
        await chat.type("/temperature 0")
        await chat.until(lambda: "terse. /preset NAME uses one" in chat.notices[-1], by="/preset")
        await chat.until(lambda: chat.app.state.conversation.system == "Be terse.", by="/preset terse")
        assert chat.app.state.settings.options.temperature == 0.3
        await chat.until(lambda: "no preset 'none-such'" in chat.notices[-1], by="/preset none-such")
        await chat.until(lambda: "/preset save NAME keeps" in chat.notices[-1], by="/preset save")
        await chat.until(lambda: "'terse' is deleted" in chat.notices[-1], by="/preset delete terse")
        await chat.type("/preset delete terse")
        await chat.until(lambda: chat.notices[-1] == "There is no preset 'terse'. /preset lists them.")


async def test_a_preset_that_could_not_be_used_is_not_saved(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        refused = "Nothing was saved: a preset's name cannot begin with 'delete'."
        await chat.noticed(refused, by="/preset save delete x")
        assert await chat.app.saved.read_presets() == {}


async def test_a_preset_tells_what_it_changes_and_replaces_and_leaves_the_seed_and_the_drafter(
    open_chat: OpenChat,
) -> None:
    async with open_chat() as chat:
        for command in ("/seed 5", "/preset save five"):
            await chat.type(command)
        await chat.noticed("Preset 'five' is saved, without the seed.")
        await chat.noticed("without the seed, in place of the one of that name.", by="/preset save five")
        await chat.until(
            lambda: chat.notices[-1].endswith("sampling of this chat, without its seed."), by="/preset"
        )
        for command in ("/seed 6", "/drafter lookup", "/max-tokens 99", "/system Be brief.", "/preset five"):
            await chat.type(command)
        told = "in use from the next answer on: max-tokens 512. Instructions: none"
        await chat.noticed(f"Preset 'five' is {told}")
        assert chat.app.state.settings.options == replace(AnswerOptions(), seed=6, drafter="lookup")
