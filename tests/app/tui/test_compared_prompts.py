"""A comparison of several prompts: each prompt's texts can be walked to."""

import json
from pathlib import Path

from textual.widgets import Static

from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_compare import opened


async def test_the_texts_of_several_prompts_say_which_one_it_is_and_the_keys_to_the_others(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    file = tmp_path / "prompts.jsonl"
    prompts = [json.dumps({"id": word, "category": "chat", "prompt": word}) for word in ("one", "two")]
    file.write_text("\n".join(prompts))
    async with open_chat(size=(80, 24)) as chat:
        await chat.type(f"/compare {file}")
        screen = await opened(chat)
        title = screen.query_one("#compare-prompt", Static)
        await chat.until(lambda: str(title.content).endswith("2 prompts together"))
        await chat.pilot.press("v")
        await chat.until(lambda: str(title.content).endswith("1/2 (Left, Right) one"))
        await chat.pilot.press("right")
        await chat.until(lambda: str(title.content).endswith("2/2 (Left, Right) two"))
