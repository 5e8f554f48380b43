"""The chat: transcript, prompt, numbers, and what the keys do there."""

import asyncio
from dataclasses import replace

from textual.app import ComposeResult
from textual.events import Key, Paste

from app.chat.attachments import attach, mentioned, mistyped, without
from app.chat.engine_link import EngineDied, EngineLink, PairEvent
from app.chat.open_chat import OpenChat
from app.chat.settings import Settings, setup_rows
from app.engine.protocol import Loaded, LoadFailed, TuningEnded
from app.history.saving import HistoryThread
from app.history.unsent import Unsent
from app.settings.options import check_drafters
from app.shell.errors import AppError, BadInput
from app.shell.printable import one_line
from app.tui.keys.keymap import bind
from app.tui.messages import PromptReady
from app.tui.program import Program
from app.tui.screens.inspector import InspectorScreen
from app.tui.screens.selecting import SelectingScreen
from app.tui.screens.totals import TotalsScreen
from app.tui.widgets.below import Below
from app.tui.widgets.conversation_view import ConversationView
from app.tui.widgets.key_line import KeyLine
from app.tui.widgets.message_actions import MessageActions
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.unsent_prompts import UnsentPrompts

HAND_OVER_SECONDS = 0.25
"""How often a growing answer is handed to the history: this costs more the longer it is."""

KEEP_SECONDS = 1.0
"""A crash loses at most this much of the prompt being written."""


class ChatScreen(SelectingScreen[None]):
    app: Program

    BINDINGS = [
        bind("f4,ctrl+t", "toggle_drafting", "Draft", "chat.draft",
             "Switch drafting on or off for the next answer"),
        bind("f5,ctrl+r", "app.command('compare')", "Compare", "chat.compare",
             "Run the last prompt without and with drafting, side by side"),
        # Priority over the prompt, whose own F6 and F7 select text.
        bind("f6", "app.command('sessions')", "Chats", "chat.sessions",
             "All chats: resume, search, rename, archive, delete, export", priority=True),
        bind("f7", "app.command('resume last')", "", "chat.resume_last",
             "Go on with the chat before this one", priority=True),
        bind("ctrl+n", "app.command('new')", "", "chat.new", "Begin a new chat"),
        bind("f10,alt+n", "app.command('temporary')", "", "chat.temporary", "Begin a temporary chat"),
        bind("f3", "app.command('marks')", "Marks", "chat.marks",
             "Mark in the answers which tokens were drafted and accepted, or stop marking"),
        bind("f8,ctrl+l", "inspect", "Rounds", "chat.rounds",
             "The rounds of an answer one by one: what was drafted, what was accepted"),
        bind("f9", "totals", "", "chat.totals",
             "This chat: instructions, sampling, and what drafting gained so far"),
        STOP := bind("escape", "stop", "Stop", "chat.stop", "Stop the answer and keep its text"),
        replace(STOP, action="leave_edit", description="Leave edit",
                tooltip="Stop editing and keep the prompt as it was"),
    ]  # fmt: skip

    BLANK = True
    """It draws only its background; without this each of its lines would be drawn with every frame."""

    def __init__(
        self,
        link: EngineLink,
        settings: Settings,
        history: HistoryThread,
        *,
        begins_anew: bool,
        is_kept: bool,
        marks: bool,
    ) -> None:
        """`begins_anew`: the program starts with a new saved chat, instead of resuming one."""
        super().__init__()
        self.state = OpenChat(
            link,
            settings,
            history,
            lambda event: self.call_later(self.state.take_event, event),
            is_kept=is_kept,
        )
        self.transcript = Transcript()
        self.below = Below(self.state)
        self.prompt = self.below.prompt
        self.unsent_prompts = UnsentPrompts(self.state, self.prompt)
        self.actions = MessageActions(self.state, self.transcript, self.unsent_prompts)
        self.view = ConversationView(
            self.state, self.transcript, self.below, self.unsent_prompts, marks=marks
        )
        self.state.view = self.view
        self._begins_anew = begins_anew

    def compose(self) -> ComposeResult:
        yield self.transcript
        yield self.below
        yield KeyLine(self.applies)

    def on_mouse_scroll_up(self) -> None:
        """The wheel scrolls the conversation wherever the pointer is and scrolls nothing else."""
        self._scroll(-self.app.scroll_sensitivity_y)

    def on_mouse_scroll_down(self) -> None:
        if not self.transcript.is_vertical_scroll_end:  # there it would stop following it
            self._scroll(self.app.scroll_sensitivity_y)

    def _scroll(self, lines: float) -> None:
        """At once: of turns and keys read together each one counts."""
        self.transcript.scroll_relative(y=lines, animate=False, immediate=True)

    def on_paste(self, event: Paste) -> None:
        """Pass a paste to the prompt if the messages have the focus."""
        if self.focused is not self.prompt.area:
            self.action_back_to_prompt()
            self.prompt.area.post_message(Paste(event.text))

    def on_mount(self) -> None:
        self.prompt.area.focus()
        self.post_message(PromptReady())
        self.show_pair()
        self.run_worker(self._load_prompts())
        self.set_interval(HAND_OVER_SECONDS, self.state.save)
        self.set_interval(KEEP_SECONDS, self.unsent_prompts.save)

    def on_screen_suspend(self) -> None:
        """Another screen opens: toasts that were read would lie over it."""
        self.view.notices.clear_read(self.app)

    async def ask(self, text: str, *, at_once: bool) -> None:
        limit = self.state.context_limit
        try:
            files = await asyncio.to_thread(lambda: [attach(path, limit) for path in mentioned(text)])
        except BadInput as error:
            why = f"{error} Nothing was sent; with a blank after the @ it is sent as text."
            self.view.note(why, "mistake")
            self.prompt.fill(text)
            return
        match mistyped(text):
            case [name]:
                written = f"@{name}" if f"@{name}" in text else f'@"{name}"'
                note = f"There is no file {name} here: {written} is sent as text."
                self.view.note(one_line(note), "warning")
            case [_, *_] as names:  # in one notice: code may have many
                note = f"There are no files {', '.join(names)} here: they are sent as text."
                self.view.note(one_line(note), "warning")
            case _:
                pass
        attached = self.prompt.take_attachments()
        if self.state.editing:
            attached = without(attached, files)
        waiting = Unsent(text, (*attached, *(file for file in files if file not in attached)))
        self.state.ask(waiting, at_once=at_once)

    def take_pair_event(self, event: PairEvent) -> None:
        idle = self.state.running is None
        match event:
            case Loaded(info):
                if idle:  # else it was counted when the answer began, which waited for the pair
                    self.state.count_context()
                for note in info.notes:
                    self.view.note(note)
                self.app.saved.note_think()
                try:
                    check_drafters(self.state.settings.options.drafter, info.name, info.drafters)
                except BadInput as error:
                    self.view.note(f"{error} /drafter auto chooses among them.", "warning")
            case TuningEnded(skipped=skipped):
                text = (
                    "Measuring was skipped: the cost of drafting here is learned while answering."
                    if skipped
                    else "Measured what drafting costs here: the draft length now adapts to the text."
                )
                # A toast would cover the first-run screen.
                self.view.note(text, seen=self.app.screen is not self)
            case LoadFailed(text) if idle:  # an answer that waited for the pair says the same thing
                self.view.note(text, "error")
            case EngineDied(text, while_answering=False):
                self.view.note(text, "error")
            case _:
                pass
        self.show_pair()

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Escape stops an answer; without one, or while it stops, it leaves an edit or the messages."""
        stop, edits = self.state.can_stop, self.state.editing is not None
        return {"stop": stop, "leave_edit": edits and not stop, "leave_messages": not stop}.get(action, True)

    def applies(self, action: str) -> bool:
        """Whether the action has something to act on; else its key is not offered, and says why not."""
        if action == "inspect":
            return bool(self.state.with_rounds())
        asked = self.state.conversation.last is not None
        if action == "app.command('marks')":
            return asked
        if action == "app.command('compare')":
            return asked and self.state.running is None
        return self.actions.apply(action)

    def action_stop(self) -> None:
        self.state.stop()

    action_leave_edit = action_stop

    def action_toggle_drafting(self) -> None:
        drafts = not self.state.settings.drafts
        self.state.change_settings(self.state.settings.switched(drafts))
        self.view.note(f"Drafting is {'on' if drafts else 'off'} for the next answer.")

    def action_inspect(self) -> None:
        if log := self.state.log_in_view():
            self.app.push_screen(InspectorScreen(self.state.with_rounds, log))
        else:
            self.view.note("There are no rounds to look at yet. Send a prompt first.", "mistake")

    def action_totals(self) -> None:
        setup = setup_rows(self.state.conversation.system, self.state.settings)
        self.app.push_screen(TotalsScreen(setup, self.state.logs.values()))

    def action_open_pasted(self) -> None:
        self.prompt.open_pasted()

    def action_page(self, direction: int) -> None:
        page = self.transcript.scrollable_content_region.height
        if direction > 0 and not self.transcript.is_vertical_scroll_end:  # there it would stop following it
            self._scroll(page)
        elif direction < 0 and self.transcript.max_scroll_y > 0:
            self._scroll(-page)

    def action_follow(self) -> None:
        self.transcript.follow()

    def action_browse(self) -> None:
        if self.state.conversation.path:
            self.set_focus(self.transcript)
            self.transcript.action_select(0)
        else:
            self.view.note("There are no messages yet. Send a prompt first.", "mistake")

    def action_back_to_prompt(self) -> None:
        self.transcript.select(None)
        self.transcript.follow()
        self.set_focus(self.prompt.area)

    action_leave_messages = action_back_to_prompt

    def begins_prompt(self, event: Key) -> bool:
        """Begin a prompt with a character that was typed among the messages and is none of their keys."""
        # A space would scroll in other programs; nobody begins a prompt with one.
        character = (event.is_printable and event.character or "").strip(" ")
        if not character or self.app.focused is not self.transcript or event.key in self.active_bindings:
            return False
        self.action_back_to_prompt()
        self.prompt.area.insert(character)
        return True

    def show_pair(self) -> None:
        self.transcript.welcome.draw()
        self.view.show()

    async def _load_prompts(self) -> None:
        try:
            await self.app.saved.read_presets()
            asked = await asyncio.wrap_future(self.state.history.ask(lambda history: history.prompts()))
        except AppError:
            return  # the history's thread has reported it
        self.prompt.past.begin(asked)
        if self._begins_anew:
            await self.unsent_prompts.put_back(None)
