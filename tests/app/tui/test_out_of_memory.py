"""A real lack of memory: the engine's process may allocate little more, and needs a lot."""

import sys
from pathlib import Path

import pytest

from mlx_spec.types import Options
from tests.app.tui.chat_driver import OpenChat

LIMITED = Path(__file__).parents[1] / "limited_engine.py"


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of the address space hold on Linux")
async def test_a_lack_of_memory_is_told_nothing_is_lost_and_the_chat_goes_on(open_chat: OpenChat) -> None:
    options = Options(max_tokens=16)
    async with open_chat(pair="builtin", options=options, process=True, script=LIMITED) as chat:
        await chat.ask("What is a draft?")
        await chat.type("word and " * 900)
        await chat.settled()
        await chat.noticed("memory")
        assert len(chat.answers) == 1 and chat.area.text.startswith("word and")
        chat.area.clear()
        assert (await chat.ask("What is a target?")).text
