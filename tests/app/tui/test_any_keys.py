"""Any keys, clicks, drags and pastes, at any size, also while the engine dies: the chat goes on."""

import os
import random
import signal
from contextlib import suppress

import pytest
from textual.errors import NoWidget
from textual.events import Paste

from tests.app.tui.chat_driver import Chat, OpenChat

KEYS = ("enter,escape,tab,shift+tab,up,down,left,right,home,end,pageup,pagedown,backspace,delete,space,slash,"
        "f1,f2,f3,f4,f5,f6,f7,f8,f9,f10,ctrl+a,ctrl+b,ctrl+e,ctrl+f,ctrl+g,ctrl+j,ctrl+k,ctrl+l,ctrl+n,"
        "ctrl+o,ctrl+p,ctrl+r,ctrl+t,ctrl+u,ctrl+w,ctrl+y,ctrl+z,alt+n,alt+enter,shift+enter,"
        "a,b,c,d,e,i,j,k,n,o,p,r,s,t,u,v,w,x,y,J,@,1").split(",")  # fmt: skip
PROMPTS = ("hold", "slow", "slow", "read", "fail", "refuse", "markdown", "think", "controls", "full",
           "differ", "echo a", "x" * 3000, "@none.txt", "/new", "/edit", "/temporary", "/compare", "/sweep",
           "/resume last", "/temperature 1.2", "/length 3", "/system be kind", "/export", "/again",
           "/continue", "/rounds", "/pairs", "/chats", "/keys", "/marks", "/theme", "/nonsense")  # fmt: skip
PASTES = ("one line", "a\n" * 5, "x\n" * 4000, "\x1b[31mred\x00", "/etc/passwd", "'/tmp/a b.txt'", "\r\n\r\n",
          "🙂" * 30)  # fmt: skip
SIZES = [(3, 5), (7, 12), (20, 6), (40, 12), (80, 24), (120, 40), (200, 60)]
STEPS = 250


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*_watch_selections")  # Textual's, of a screen that ends
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("process", [False, True], ids=["thread", "process"])
async def test_whatever_a_person_does_in_any_order_ends_nothing(
    open_chat: OpenChat, monkeypatch: pytest.MonkeyPatch, seed: int, process: bool
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    draw = random.Random(seed)
    async with open_chat(size=draw.choice(SIZES), process=process, toasts=True) as chat:
        done: list[str] = []
        for _ in range(STEPS):
            done.append(await _step(chat, draw, process))
            assert chat.app._exception is None, f"after {done[-12:]}"
            if chat.app._exit:
                return  # a click on Quit
        for _ in range(12):
            await chat.press("escape")
        await chat.back_in_chat()


async def _point(chat: Chat, draw: random.Random) -> str:
    """Do something with the mouse; what it was."""
    width, height = chat.app.size
    start, end = ((draw.randrange(width), draw.randrange(height)) for _ in range(2))
    with suppress(NoWidget):  # a screen that does not yet have the terminal's size
        if draw.random() < 0.5:
            await chat.pilot.click(offset=start, times=draw.choice((1, 1, 2, 3)))
            return f"click {start}"
        await chat.pilot.mouse_down(offset=start)
        await chat.pilot.hover(offset=end)
        await chat.pilot.mouse_up(offset=end)
    return f"drag {start} {end}"


async def _step(chat: Chat, draw: random.Random, process: bool) -> str:
    """Do something; what it was."""
    kind = draw.random()
    if kind < 0.55:
        keys = draw.choices(KEYS, k=draw.randint(1, 4))
        await chat.press(*keys)
        return f"keys {keys}"
    if kind < 0.65:
        keys = draw.choices(KEYS, k=draw.randint(2, 6))
        chat.press_at_once(*keys)
        await chat.pilot.pause()
        return f"at once {keys}"
    if kind < 0.75:
        return await _point(chat, draw)
    if kind < 0.78:
        text = draw.choice(PASTES)
        chat.app.screen.post_message(Paste(text))
        await chat.pilot.pause()
        return f"paste {text[:10]!r}"
    if kind < 0.9:
        text = draw.choice(PROMPTS)
        if chat.app.screen is chat.app.chat:
            await chat.type(text)
        return f"prompt {text[:20]}"
    if kind < 0.96 or not process:
        size = draw.choice(SIZES)
        await chat.pilot.resize_terminal(*size)
        return f"size {size}"
    with suppress(ProcessLookupError):
        pid = chat.app.link.client.pid
        if pid:
            os.kill(pid, signal.SIGKILL)
    return "killed"
