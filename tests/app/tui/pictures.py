"""Takes the pictures in docs/images from the real app with the real engine process.

python -m tests.app.tui.pictures [--target FOLDER --draft FOLDER] [--prompt TEXT] [--folder docs/images]
"""

import argparse
import asyncio
import os
import re
import tempfile
from collections.abc import Callable
from pathlib import Path

from textual.pilot import Pilot

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.tui.app import ChatApp
from app.tui.screens.compare import CompareScreen
from app.tui.widgets.answer import Answer
from app.tui.widgets.prompt import Prompt
from mlx_spec.types import Options
from models.pairs.pair import PairSpec
from models.pairs.resolve import resolve

PROMPTS = ["What is speculative decoding?", "Hello! Who are you?"]
SIZE = (100, 28)
FONTS = "ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono'"
PATIENCE_SECONDS = 120

_WEB_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


async def take(pair: PairSpec, prompts: list[str], folder: Path) -> None:
    """Write chat.svg (a live answer's marks kept), compare.svg, sweep.svg and rounds.svg."""
    with tempfile.TemporaryDirectory() as state:
        os.environ["MLX_SPEC_HOME"] = state  # nobody's chats in the pictures, no pictures in anybody's chats
        link = EngineLink(EngineClient(Path(state) / "engine.log"), pair)
        link.start()
        app = ChatApp(link, Settings.of(Options(max_tokens=160)))
        try:
            async with app.run_test(size=SIZE) as pilot:
                await _until(pilot, lambda: link.state != "loading")
                app.chat.view.show_marks(True)
                for number, prompt in enumerate(prompts, 1):
                    app.chat.query_one(Prompt).fill(prompt)
                    await pilot.press("enter")
                    await _until(pilot, lambda number=number: len(app.chat.query(Answer)) == number)
                await pilot.pause(0.5)
                _save(app, folder / "chat.svg")
                await pilot.resize_terminal(SIZE[0], 20)
                await pilot.press("f5")
                await _until(pilot, lambda: _judged(app))
                await pilot.pause(0.5)
                _save(app, folder / "compare.svg")
                await pilot.resize_terminal(*SIZE)
                await pilot.press("s")
                await _until(pilot, lambda: not _judged(app))
                await _until(pilot, lambda: _judged(app))
                await pilot.pause(0.5)
                _save(app, folder / "sweep.svg")
                app.opener.return_to_chat()
                await pilot.resize_terminal(SIZE[0], 24)
                await pilot.press("f8", "home", "down")
                await pilot.pause(0.5)
                _save(app, folder / "rounds.svg")
        finally:
            link.close()


def _judged(app: ChatApp) -> bool:
    return isinstance(app.screen, CompareScreen) and app.screen.record is not None


async def _until(pilot: Pilot[None], holds: Callable[[], bool]) -> None:
    for _ in range(PATIENCE_SECONDS * 20):
        await pilot.pause(0.05)
        if holds():
            return
    raise TimeoutError("the app did not get there")


def _save(app: ChatApp, path: Path) -> None:
    """Without the web fonts Textual links to: a picture in a README loads nothing."""
    svg = _WEB_FONTS.sub("", app.export_screenshot(title="mlx-spec")).replace("Fira Code", FONTS)
    svg = svg.replace("<svg ", '<svg xml:space="preserve" ', 1)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(svg)
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
