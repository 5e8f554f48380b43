"""Carries out `/` commands, whether typed, picked from the list or from the palette."""

from typing import TYPE_CHECKING

from app.errors import BadInput
from app.tui.clipboard import copy
from app.tui.settings import change, describe
from app.tui.slash_commands import SlashCommand, parse

if TYPE_CHECKING:
    from app.tui.app import ChatApp


class CommandRunner:
    """One method per command that is no setting, named `do_<command>`."""

    def __init__(self, app: "ChatApp") -> None:
        self._app = app
        self._chat = app.chat

    async def run(self, text: str) -> None:
        """Run a typed command; what cannot be done is said in the conversation."""
        try:
            command, value = parse(text)
            if command.is_setting:
                self._set(command, value)
            else:
                await getattr(self, f"do_{command.name.replace('-', '_')}")(value)
        except BadInput as error:
            self._say(str(error), failed=True)

    def _set(self, command: SlashCommand, value: str) -> None:
        if value:
            self._chat.change_settings(change(self._chat.settings, command.name, value.lower()))
        when = " from the next answer on" if value else f". Change it with {command.usage}"
        said = describe(self._chat.settings, command.name)
        self._say(f"{said[0].upper()}{said[1:]}{when}.")

    async def do_help(self, value: str) -> None:
        self._app.action_help()

    async def do_compare(self, value: str) -> None:
        self._app.action_compare()

    async def do_rounds(self, value: str) -> None:
        self._chat.action_inspect()

    async def do_stats(self, value: str) -> None:
        self._chat.action_totals()

    async def do_pairs(self, value: str) -> None:
        self._app.action_pairs()

    async def do_system(self, value: str) -> None:
        conversation = self._chat.conversation
        if value:
            conversation.system = "" if value == "none" else value
        said = f"Instructions: {conversation.system}" if conversation.system else "There are no instructions."
        self._say(said)

    async def do_marks(self, value: str) -> None:
        if value not in ("on", "off", ""):
            raise BadInput(f"'{value}' is neither on nor off.")
        self._chat.show_marks(value == "on" if value else not self._chat.marks)

    async def do_copy(self, value: str) -> None:
        answers = [turn.answer for turn in self._chat.conversation.turns if turn.answer]
        if not answers:
            raise BadInput("There is no answer to copy yet.")
        copy(self._app, answers[-1])
        self._say(f"Copied the last answer ({len(answers[-1])} characters).")

    async def do_stop(self, value: str) -> None:
        self._chat.action_stop()

    async def do_clear(self, value: str) -> None:
        self._chat.clear()

    async def do_theme(self, value: str) -> None:
        self._app.action_change_theme()

    async def do_log(self, value: str) -> None:
        self._say(f"The engine's log: {self._app.link.client.log_path}")

    async def do_quit(self, value: str) -> None:
        await self._app.action_quit()

    def _say(self, text: str, *, failed: bool = False) -> None:
        self._chat.transcript.note(text, "error" if failed else "info")
