"""With other keys in config.toml, every sentence names the key in use, and none a default key."""

import ast
import re
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from string import ascii_lowercase

import pytest
from textual._xterm_parser import XTermParser
from textual.events import Key

import app.tui
from app.settings.options import AnswerOptions
from app.tui.keys.in_force import Keys
from app.tui.keys.keymap import checked_keys, default_keys
from app.tui.screens.first_run import FirstRunScreen
from app.tui.screens.help import HelpScreen
from app.tui.screens.own_pair import OwnPairScreen
from app.tui.screens.question import LineQuestionScreen, QuestionScreen
from app.tui.screens.sessions import SessionsScreen
from app.tui.screens.totals import TotalsScreen
from app.tui.widgets.field import Field
from tests.app.history.some_chat import answer, chat, prompt
from tests.app.tui.chat_driver import OpenChat, keys_shown
from tests.app.tui.test_saved_chats import put

A_LETTER = re.compile(r"(?<![\w'.])[a-zA-Z/] (?:adds|brings|cancels|filters|gives|goes|opens|shows|tries)\b")
A_KEY = re.compile(r"\bF\d\d?\b|\bCtrl\+\w+|\bEsc\b|\^\w\b")
NOT_OURS = {"Ctrl+C"}
"""The key of leaving, which is no binding with an id."""
NAMES_KEYS = {"KEY_NAMES"}
"""The tables of key names."""


def sentences() -> Iterator[tuple[str, str]]:
    """(place, string) of every string in the code of app.tui, docstrings excepted."""
    for file in sorted(Path(app.tui.__path__[0]).rglob("*.py")):
        tree = ast.parse(file.read_text())
        skipped: set[int] = set()
        for node in ast.walk(tree):
            if isinstance(node, ast.Expr):
                skipped.add(id(node.value))
            if isinstance(node, ast.Assign) and NAMES_KEYS & {ast.unparse(one) for one in node.targets}:
                skipped |= {id(inner) for inner in ast.walk(node)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in skipped:
                yield f"{file.name}:{node.lineno}", node.value


def test_no_sentence_of_the_screens_has_a_shipped_key_written_into_it_or_names_an_unknown_one() -> None:
    texts = dict(sentences())
    written = {place: set(A_KEY.findall(text) + A_LETTER.findall(text)) for place, text in texts.items()}
    assert not {place: keys for place, keys in written.items() if keys - NOT_OURS}
    named = {name for text in texts.values() for name in re.findall(r"\{(\w+\.\w+)\}", text)}
    assert len(named) > 10 and named <= default_keys().keys()


def test_a_key_is_named_as_people_read_it_and_other_text_is_left_alone() -> None:
    keys = Keys({"chat.stop": "ctrl+x,f7"})
    assert keys.fill_in("{chat.stop} or {app.help}, {} and {chat}") == "Ctrl+X or F1, {} and {chat}"
    assert keys.of("chat.stop") == ["ctrl+x", "f7"]


def other_keys() -> dict[str, str]:
    """For every binding a key that is not its default."""
    while_typing = {"app", "chat", "prompt"}
    shared = chain((f"alt+{letter}" for letter in ascii_lowercase), (f"ctrl+shift+f{n}" for n in range(1, 9)))
    own: dict[str, int] = {}
    keys: dict[str, str] = {}
    for binding in default_keys():
        group = binding.partition(".")[0]
        if group in while_typing:
            keys[binding] = next(shared)
        else:
            number = own[group] = own.get(group, 0) + 1
            keys[binding] = f"alt+{number}" if number < 10 else f"f{number + 3}"
    return keys


async def test_with_every_key_remapped_no_shipped_one_works_or_is_named_by_a_screen_or_the_help(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    keys = other_keys()
    table = "\n".join(f'{binding} = "{key}"' for binding, key in keys.items())
    (tmp_path / "config.toml").write_text(f"marks = true\n[keys]\n{table}\n")
    put(tmp_path, (chat("c1", "Old", 10.0, leaf="a1"), [prompt("p1", "one"), answer("a1", "p1")]))
    allowed = NOT_OURS | {f"F{n}" for n in range(13, 20)}
    async with open_chat(size=(100, 45), options=AnswerOptions(max_tokens=100_000)) as opened:
        named = Keys(keys)
        await opened.shows(f"{named.name('chat.resume_last')} goes on with 'Old'")
        assert not any("config.toml" in notice for notice in opened.notices), opened.notices
        seen: list[str] = []

        async def look(what: str) -> None:
            await opened.pilot.pause()
            named = set(A_KEY.findall(opened.screen))
            assert not named - allowed, f"{what}: {named - allowed}"
            seen.append(opened.screen)

        async def help_on(what: str) -> None:
            await opened.press(keys["app.help"])
            await opened.reached(HelpScreen)
            await look(f"help on {what}")
            await opened.until(lambda: not isinstance(opened.app.screen, HelpScreen), by=keys["help.close"])

        async def send(text: str) -> None:
            opened.app.chat.prompt.fill(text)
            await opened.press(keys["prompt.send"])

        await look("the empty chat")
        await help_on("the prompt")
        await opened.press("h", "i", "enter", "y", "f4")
        assert opened.area.text == "hi\ny" and opened.app.state.settings.drafts, "shipped keys do nothing now"
        await opened.until(lambda: not opened.app.state.settings.drafts, by=keys["chat.draft"])
        await send("slow")
        await opened.until(lambda: bool(opened.app.state.running and opened.app.state.running.log.text))
        await send("next")
        await look("a prompt that waits")
        await opened.press(keys["chat.compare"])
        await opened.noticed("Stop it with")
        await look("a refusal")
        await opened.press(keys["chat.stop"])
        await opened.until(lambda: any(a.text.startswith("The target") for a in opened.answers))
        assert opened.answers[0].marks, "as config.toml says"
        await opened.settled()
        await opened.press(keys["prompt.browse"])
        await help_on("the messages")
        await opened.press(keys["messages.edit"])
        await look("an edited prompt")
        for screen in (
            SessionsScreen(),
            FirstRunScreen(),
            QuestionScreen("Sure?", "Do it", "Leave it"),
            TotalsScreen([], opened.app.state.logs.values()),
            OwnPairScreen(),
        ):
            await opened.push(screen)
            await look(type(screen).__name__)
            opened.app.runner.return_to_chat()
        for binding in ("chat.compare", "app.help", "prompt.at_once", "question.yes", "own.leave"):
            assert any(named.name(binding) in shown for shown in seen), binding


async def test_alt_and_a_letter_as_a_terminal_without_kittys_protocol_sends_them_act_and_type_no_letter(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('[keys]\nprompt.send = "alt+s"\napp.help = "alt+t"\n')
    async with open_chat() as opened:

        def press_alt(letter: str) -> None:
            """As Textual reads Escape and a letter."""
            opened.app.post_message(Key(f"alt+{letter}", letter))

        press_alt("n")
        await opened.noticed("This chat is temporary")
        press_alt("x")
        await opened.has("x")  # it has no meaning
        press_alt("s")
        await opened.answered(1)
        assert opened.prompts == ["x"]
        sessions = await opened.reached(SessionsScreen, by="f6")
        await opened.press("slash", "a")
        press_alt("t")
        await opened.reached(HelpScreen)
        assert sessions.query_one(Field).value == "a"


async def test_a_letter_that_is_typed_into_a_search_is_not_offered_there_as_a_key(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    (tmp_path / "config.toml").write_text('[keys]\nsessions.delete = "D"\nsessions.back = "q"\n')
    async with open_chat(asked="hello") as opened:
        sessions = await opened.reached(SessionsScreen, by="f6")
        await opened.until(lambda: all(key in keys_shown(opened) for key in ("D Delete", "q Back")))
        await opened.press("slash", "D", "q")
        assert sessions.query_one(Field).value == "Dq"
        await opened.until(lambda: not {"D", "q"} & set(keys_shown(opened).split()))
        assert "F1 Help" in keys_shown(opened)


async def test_a_sign_works_as_a_key_and_is_shown_as_written(open_chat: OpenChat, tmp_path: Path) -> None:
    (tmp_path / "config.toml").write_text('[keys]\nsessions.rename = "-"\nsessions.back = "[,backslash"\n')
    async with open_chat(asked="hello") as opened:
        await opened.reached(SessionsScreen, by="f6")
        await opened.until(lambda: all(key in keys_shown(opened) for key in ("- Rename", "[ Back")))
        await opened.reached(LineQuestionScreen, by="minus")
        await opened.reached(SessionsScreen, by="escape")
        await opened.back_in_chat(by="left_square_bracket")


@pytest.mark.parametrize(
    ("written", "sent"),
    [
        ("ctrl+]", "\x1d"),
        ("Ctrl+\\", "\x1c"),
        ("ctrl+@", "\x00"),
        ("Ctrl+§", "\x1b[167;5u"),
        ("alt+€", "\x1b[8364;3u"),
        ("Shift+Ctrl+PageUp", "\x1b[5;6~"),
        ("Ctrl+Alt+G", "\x1b[103;7u"),
        ("Ctrl+Return", "\x1b[13;5u"),
    ],
)
def test_a_sign_with_ctrl_and_modifiers_in_any_order_work_as_keys(written: str, sent: str) -> None:
    (pressed,) = XTermParser().feed(sent)
    assert isinstance(pressed, Key)
    assert checked_keys(Path("config.toml"), {"chat.compare": written}) == (
        {"chat.compare": pressed.key},
        [],
    )
