"""Carries out `/` commands, whether typed, picked from the list or from the palette."""

import re
from typing import TYPE_CHECKING

from app.chat.pair_removal import remove_after_asking
from app.chat.settings import change, describe
from app.compare.wish import read_compare, read_sweep
from app.shell.counted import counted
from app.shell.errors import AppError, BadInput
from app.shell.pull_text import warning
from app.tui.palette import ThemePalette
from app.tui.slash_commands import SlashCommand, parse
from mlx_spec.types import Options
from models.errors import UnknownPair
from models.pairs.catalogue import Pair, find
from models.pairs.fit import fit
from models.pairs.installed import installed
from models.size_text import size_text

if TYPE_CHECKING:
    from app.tui.app import ChatApp


class CommandRunner:
    """One method per command that is no setting, named `do_<command>`."""

    def __init__(self, app: "ChatApp") -> None:
        self._app = app
        self._chat = app.chat
        self._saved = app.history_actions

    async def run(self, text: str) -> None:
        """Run a typed command; what cannot be done is said in the conversation."""
        try:
            command, value = parse(text)
            if command.is_setting:
                self._set(command, value)
            else:
                await getattr(self, f"do_{command.name.replace('-', '_')}")(value)
        except AppError as error:
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
        self._app.compare(read_compare(value, self._drafting()))

    async def do_sweep(self, value: str) -> None:
        self._app.compare(read_sweep(value, self._drafting()))

    async def do_comparisons(self, value: str) -> None:
        self._app.action_comparisons()

    async def do_rounds(self, value: str) -> None:
        self._chat.action_inspect()

    async def do_stats(self, value: str) -> None:
        self._chat.action_totals()

    async def do_welcome(self, value: str) -> None:
        self._app.action_welcome()

    async def do_pairs(self, value: str) -> None:
        self._app.action_pairs()

    async def do_use(self, value: str) -> None:
        pair = self._pair(value)
        if not installed(pair.spec):
            raise BadInput(f"{pair.name} is not on this machine. Get it with /pull {pair.name}.")
        self._app.use(pair)

    async def do_pull(self, value: str) -> None:
        pair = self._pair(value)
        if installed(pair.spec):
            raise BadInput(f"{pair.name} is on this machine already. Use it with /use {pair.name}.")
        self._app.pulls.add(pair.spec)
        where = self._app.keys.told("{app.pairs} shows how far it is.")
        what = f"Downloading {pair.name}, {size_text(pair.download_bytes)}. {where} {warning(fit(pair))}"
        self._say(what.rstrip())

    async def do_remove(self, value: str) -> None:
        pair = self._pair(value)

        app = self._app

        async def remove() -> None:
            self._say(await remove_after_asking(pair, app.link.pair, app.pulls, app.ask))

        self._app.run_worker(remove())

    def _pair(self, name: str) -> Pair:
        if not name:
            raise BadInput("Name a pair; /pairs lists them.")
        try:
            return find(name)
        except UnknownPair as error:
            own = "{app.pairs}, then {pairs.own} adds one from repositories or folders."
            said = f"There is no pair {name}. {self._app.keys.told(own)}" if "/" in name else str(error)
            raise BadInput(said) from error

    async def do_system(self, value: str) -> None:
        conversation = self._chat.conversation
        if value:
            conversation.set_up(system="" if value == "none" else value)
        said = f"Instructions: {conversation.system}" if conversation.system else "There are no instructions."
        self._say(said)

    async def do_marks(self, value: str) -> None:
        if value not in ("on", "off", ""):
            raise BadInput(f"'{value}' is neither on nor off.")
        self._chat.show_marks(value == "on" if value else not self._chat.marks)

    async def do_copy(self, value: str) -> None:
        what, _, number = value.partition(" ")
        if what not in ("", "code") or not re.fullmatch(r"\d{0,9}", number):
            raise BadInput(f"'{value}' cannot be copied. It is /copy, /copy code or /copy code 2.")
        if what:
            self._chat.actions.copy_code(int(number) if number else None)
        else:
            self._chat.actions.copy()

    async def do_messages(self, value: str) -> None:
        self._chat.action_browse()

    async def do_edit(self, value: str) -> None:
        self._chat.actions.edit()

    async def do_regenerate(self, value: str) -> None:
        self._chat.actions.regenerate(value or "new")

    async def do_continue(self, value: str) -> None:
        self._chat.actions.continue_answer()

    async def do_branch(self, value: str) -> None:
        if value not in ("before", "after"):
            raise BadInput(f"'{value}' is neither before nor after.")
        self._chat.actions.walk(-1 if value == "before" else 1)

    async def do_think(self, value: str) -> None:
        self._chat.actions.fold()

    async def do_attach(self, value: str) -> None:
        if not value:
            raise BadInput("Name the file: /attach FILE")
        self._chat.attach(value.strip('"'))

    async def do_detach(self, value: str) -> None:
        files = self._chat.prompt.take_attachments()
        self._say(f"{counted(len(files), 'attached file')} left out.")

    async def do_editor(self, value: str) -> None:
        self._chat.prompt.area.action_editor()

    async def do_sessions(self, value: str) -> None:
        self._app.show_sessions(value)

    async def do_resume(self, value: str) -> None:
        await self._saved.resume(value or "last")

    async def do_new(self, value: str) -> None:
        self._chat.clear()

    async def do_rename(self, value: str) -> None:
        self._saved.rename(value)

    async def do_archive(self, value: str) -> None:
        await self._saved.archive()

    async def do_delete(self, value: str) -> None:
        await self._saved.delete()

    async def do_undo(self, value: str) -> None:
        await self._saved.undo()

    async def do_export(self, value: str) -> None:
        await self._saved.export(value)

    async def do_import(self, value: str) -> None:
        await self._saved.import_file(value)

    async def do_preset(self, value: str) -> None:
        await self._saved.preset(value)

    async def do_stop(self, value: str) -> None:
        if not self._chat.can_stop:
            raise BadInput("There is nothing to stop.")
        self._chat.action_stop()

    async def do_clear(self, value: str) -> None:
        self._chat.clear()

    async def do_theme(self, value: str) -> None:
        self._app.push_screen(ThemePalette())

    async def do_config(self, value: str) -> None:
        self._say(f"Settings: {self._app.config.file}. `mlx-spec config` prints every key and what holds.")

    async def do_log(self, value: str) -> None:
        self._say(f"The engine's log: {self._app.link.client.log_path}")

    async def do_quit(self, value: str) -> None:
        await self._app.action_quit()

    def _drafting(self) -> Options:
        """The options of a drafted answer in this chat."""
        return self._chat.settings.for_answer(drafting=True)

    def _say(self, text: str, *, failed: bool = False) -> None:
        self._chat.transcript.note(text, "error" if failed else "info")
