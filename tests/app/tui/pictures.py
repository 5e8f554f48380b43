"""Takes the pictures in docs/images from the real app with the real engine process.

python -m tests.app.tui.pictures [--target FOLDER --draft FOLDER] [--prompt TEXT] [--folder docs/images]
"""

import argparse
import asyncio
import os
import tempfile
from pathlib import Path

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.settings.options import AnswerOptions
from app.tui.app import ChatApp
from app.tui.screens.compare import CompareScreen
from app.tui.theme import DARK, LIGHT
from models.pairs.pair import PairSpec
from models.pairs.resolve import resolve
from tests.app.tui.chat_driver import Chat
from tests.app.tui.pairs_driver import open_pairs
from tests.app.tui.pictured import picture

PROMPTS = ["What is speculative decoding?", "Hello! Who are you?"]
PAIR = "smollm2-1.7b"
SIZE = (100, 28)
PATIENCE = 600.0
"""A comparison on a busy machine takes minutes."""
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'"


async def take(pair: PairSpec, prompts: list[str], folder: Path) -> None:
    """Write a picture of each: the chat, dark with marks and light, a comparison, a sweep, rounds, pairs."""
    with tempfile.TemporaryDirectory() as state:
        os.environ["MLX_SPEC_HOME"] = state  # nobody's chats in the pictures, no pictures in anybody's chats
        link = EngineLink(EngineClient(Path(state) / "engine.log"), pair)
        link.start()
        app = ChatApp(link, Settings.of(AnswerOptions(max_tokens=160)))
        try:
            async with app.run_test(size=SIZE) as pilot:
                chat = Chat(app, pilot)
                chat.patience = PATIENCE
                await chat.until(lambda: link.state != "loading")
                app.chat.view.show_marks(True)
                for prompt in prompts:
                    await chat.ask(prompt)
                await _save(chat, folder / "chat.svg")
                app.theme = LIGHT.name
                await _save(chat, folder / "light.svg")
                app.theme = DARK.name
                await pilot.resize_terminal(SIZE[0], 20)
                screen = await chat.reached(CompareScreen, by="f5")
                await chat.until(lambda: screen.record is not None)
                await _save(chat, folder / "compare.svg")
                await pilot.resize_terminal(*SIZE)
                await chat.until(lambda: screen.record is None, by="s")
                await chat.until(lambda: screen.record is not None)
                await _save(chat, folder / "sweep.svg")
                app.runner.return_to_chat()
                await pilot.resize_terminal(SIZE[0], 24)
                # On a busy machine auto drafts little, and rounds without a draft show nothing.
                await chat.type("/length 6")
                await chat.ask(prompts[-1])
                await chat.press("f8", "home", "down")
                await _save(chat, folder / "rounds.svg")
                await chat.press("escape")
                await open_pairs(chat, PAIR)
                await _save(chat, folder / "pairs.svg")
        finally:
            link.close()


async def _save(chat: Chat, path: Path) -> None:
    await chat.pilot.pause(0.5)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(picture(chat.app, FONTS))
    print(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("pair", nargs="?")
    parser.add_argument("--target")
    parser.add_argument("--draft")
    parser.add_argument("--prompt", action="append")
    parser.add_argument("--folder", type=Path, default=Path("docs/images"))
    given = parser.parse_args()
    pair = resolve(given.pair, given.target, given.draft)
    asyncio.run(take(pair, given.prompt or PROMPTS, given.folder))


if __name__ == "__main__":
    main()
