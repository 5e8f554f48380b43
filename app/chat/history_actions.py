"""What a person does with saved chats from the chat itself; the conversation says what was done."""

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Protocol

from app.chat.open_chat import OpenChat
from app.chat.saved_chats import SavedChats
from app.history.records import Chat, Preset, now
from app.history.saving import News
from app.shell.errors import AppError, BadInput
from app.shell.number_text import ago, counted
from app.shell.printable import one_line


class KeyNames(Protocol):
    """The keys that the person has, by binding id."""

    def name(self, binding: str) -> str: ...
    def fill_in(self, sentence: str) -> str: ...


class HistoryActions:
    """One method per command; all raise `BadInput` with what to do instead."""

    def __init__(
        self,
        chat: OpenChat,
        saved: SavedChats,
        keys: KeyNames,
        put_back_unsent: Callable[[str], Awaitable[None]],
    ) -> None:
        """`put_back_unsent` brings what was not sent in a chat back into the prompt."""
        self._chat = chat
        self._saved = saved
        self._keys = keys
        self._put_back_unsent = put_back_unsent

    async def offer_last(self) -> None:
        """Say which key goes on with the last chat, if there is one."""
        try:
            chat = await self._saved.last()
            left = chat is not None and await self._saved.has_unsent(chat)
        except AppError:
            return  # the history's thread has told it
        if chat is not None and not len(self._chat.conversation.tree):
            last, others = (self._keys.name(key) for key in ("chat.resume_last", "chat.sessions"))
            when = ago(chat.changed, now())
            also = ", where a prompt was not sent" if left else ""
            self._note(f"{last} goes on with '{chat.title}' ({when}){also}. {others} lists all chats.")

    async def resume(self, name: str) -> None:
        """Open a chat by the beginning of its id, or the last one."""
        found, messages = await self._saved.find(name)
        self._chat.resume(found, messages)
        path = self._chat.conversation.path
        facts = next((message.facts for message in reversed(path) if message.facts is not None), None)
        if facts is not None and facts.pair != self._chat.link.pair.name:
            pair = one_line(self._chat.link.pair.name)
            change = self._keys.fill_in("{app.pairs} changes it.")
            self._note(f"Written with {facts.pair}; {pair} answers from here on. {change}")
        if path and path[-1].role == "user":
            text = "The last prompt was not answered. /regenerate has it answered."
            self._chat.view.note(text, "warning")
        await self._put_back_unsent(found.id)

    def rename(self, title: str) -> None:
        if not title:
            raise BadInput("Give the title: /rename TITLE")
        self._chat.conversation.rename(one_line(title))
        self._note(f"This chat is now '{one_line(title)}'.")

    async def archive(self) -> None:
        archived = await self._saved.archive(self._current())
        self._note("This chat is in the archive." if archived else "This chat is out of the archive.")

    async def delete(self) -> None:
        chat = self._current()
        await self._saved.delete(chat)
        self._note(f"Deleted '{chat.title}'. /undo brings it back.")

    async def undo(self) -> None:
        """Bring the chat back that was deleted last; into view too, in place of an empty one."""
        chat = await self._saved.undo()
        if not len(self._chat.conversation.tree):
            await self.resume(chat.id)
        self._note(f"'{chat.title}' is back.")

    async def export(self, value: str) -> None:
        """`[markdown|json] [FILE]` of the chat in view."""
        kind, _, file = value.partition(" ")
        if kind not in ("markdown", "md", "json"):
            kind, file = ("json" if value.endswith(".json") else "markdown"), value
        path = await self._saved.export(
            self._current(), "json" if kind == "json" else "markdown", file.strip()
        )
        self._note(f"Written to {path}.")

    async def import_file(self, file: str) -> None:
        if not file:
            raise BadInput("Name the file: /import FILE")
        added, known = await self._saved.import_file(file)
        self._note(f"{counted(added, 'chat')} added, {known} there already.")

    async def preset(self, value: str) -> None:
        """List presets, use one, save what is set under a name, or delete one."""
        verb, _, name = value.partition(" ")
        name = name.strip()
        presets = {preset.name: preset for preset in await self._saved.ask(lambda h: h.presets())}
        if not value:
            uses = f"{', '.join(presets)}. /preset NAME uses one" if presets else "none yet"
            self._note(
                f"Presets: {uses}. /preset save NAME keeps the instructions and sampling of this chat."
            )
        elif verb == "save" and name:
            preset = Preset(name, self._chat.conversation.system, self._chat.settings.options)
            await self._saved.ask(lambda history: history.save_preset(preset))
            self._note(f"Preset '{name}' is saved.")
        elif verb == "delete" and name:
            if not await self._saved.ask(lambda history: history.delete_preset(name)):
                raise BadInput(f"There is no preset '{name}'. /preset lists them.")
            self._note(f"Preset '{name}' is deleted.")
        elif value in presets:
            self._use(presets[value])
        else:
            raise BadInput(f"There is no preset '{value}'. /preset lists them.")

    def report_saving(self, news: News) -> None:
        """Say what became of saving; a new file gets everything that is in view."""
        self._chat.view.note(news.text, "info" if news.kind == "resumed" else "error")
        if news.kind == "new file":
            self._chat.conversation.save_all()

    def _use(self, preset: Preset) -> None:
        chat = self._chat
        chat.conversation.set_up(system=preset.system)
        # The seed is no matter of taste; it stays.
        options = replace(preset.options, seed=chat.settings.options.seed)
        chat.change_settings(replace(chat.settings, options=options))
        system = f" Instructions: {preset.system}" if preset.system else ""
        self._note(f"Preset '{preset.name}' is in use from the next answer on.{system}")

    def _current(self) -> Chat:
        conversation = self._chat.conversation
        if not len(conversation.tree):
            raise BadInput("This chat is empty yet.")
        return conversation.chat

    def _note(self, text: str) -> None:
        self._chat.view.note(text)
