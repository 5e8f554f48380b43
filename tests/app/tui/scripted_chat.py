"""The app on the scripted engine, for tests in a terminal: `python -m tests.app.tui.scripted_chat`."""

import sys
from pathlib import Path

from app.chat.engine_link import EngineLink
from app.chat.settings import Settings
from app.engine.client import EngineClient
from app.settings.config import read_config
from app.settings.options import AnswerOptions
from app.tui.app import ChatApp
from app.tui.run import checked
from models.pairs.pair import PairSpec, Source
from models.paths import data_folder

SCRIPT = Path(__file__).parents[1] / "scripted_engine.py"

if __name__ == "__main__":
    client = EngineClient(data_folder() / "engine.log", [sys.executable, str(SCRIPT)])
    link = EngineLink(client, PairSpec("scripted", Source("/target"), Source("/draft")))
    link.start()
    try:
        ChatApp(link, Settings.of(AnswerOptions()), checked(read_config())).run()
    finally:
        link.close()
