"""What can be done with a message: edit, ask again, continue, walk its branches, copy."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

from app.chat.attachments import PASTED
from app.chat.open_chat import OpenChat
from app.chat.settings import new_seed
from app.engine.thinking import answer_of, thought_of
from app.history.records import ChatMessage
from app.shell.errors import BadInput
from app.shell.number_text import counted
from app.tui.widgets.answer import Answer
from app.tui.widgets.figures import branch_label
from app.tui.widgets.markdown_blocks import code_blocks
from app.tui.widgets.transcript import Transcript
from app.tui.widgets.unsent_prompts import UnsentPrompts


class MessageActions:
    """Acts on the chosen message of the transcript, or the last one; raises `BadInput` if it cannot."""

    def __init__(self, chat: OpenChat, transcript: Transcript, unsent: UnsentPrompts) -> None:
        self._chat = chat
        self._transcript = transcript
        self._unsent = unsent
        self._copied: tuple[str, int] = ("", 0)

    def apply(self, action: str) -> bool:
        """Whether a key's action on the chosen message, or the last, would do something."""
        attempts: dict[str, Callable[[], object]] = {
            "app.command('edit')": self._prompt,
            "app.command('regenerate')": self._prompt,
            "app.command('continue')": self._unfinished,
            "app.command('copy')": lambda: self._chosen() or self._answer(),
            "app.command('copy code')": self._code,
            "app.command('branch before')": lambda: self._branch("before"),
            "app.command('branch after')": lambda: self._branch("after"),
        }
        if action not in attempts:
            return True
        try:
            if "copy" not in action:
                self._idle("do it")
            attempts[action]()
        except BadInput:
            return False
        return True

    def edit(self) -> None:
        """Put a prompt back into the input; sending it begins a new branch."""
        self._idle("edit")
        prompt = self._prompt()
        self._unsent.begin_editing(prompt)
        self._chat.editing = prompt
        self._transcript.select(None)
        self._chat.view.show()

    def regenerate(self, seed: str) -> None:
        """Another answer to a prompt, beside the first, with a `new` seed or the `same`."""
        if seed not in ("new", "same"):
            raise BadInput(f"'{seed}' is neither new nor same.")
        self._idle("ask again")
        prompt = self._prompt()
        chat = self._chat
        options = chat.settings.options
        before = self._chosen() or chat.conversation.last_answer
        if seed == "new":
            options = replace(options, seed=new_seed())
        elif before is not None and before.facts is not None:
            options = replace(options, seed=before.facts.options.seed)
        if seed == "new" and options.temperature == 0:
            chat.view.note(
                "The temperature is 0, where every seed gives the same text. /temperature 0.7 varies it."
            )
        chat.answer(prompt, replace(chat.settings, options=options))

    def continue_answer(self) -> None:
        self._idle("continue")
        self._chat.go_on(self._unfinished())

    def _unfinished(self) -> ChatMessage:
        answer = self._answer()
        if answer.facts is not None and answer.facts.finish == "stop":
            raise BadInput("This answer is complete. Ask for more in a prompt.")
        if self._chat.conversation.chat.leaf != answer.id:
            raise BadInput("Other messages follow this answer. Only the last one can be continued.")
        return answer

    def walk(self, side: str) -> None:
        if side not in ("before", "after"):
            named = f", not '{side}'" if side else ""
            raise BadInput(f"It is /branch before or /branch after{named}.")
        self._idle("change the branch")
        branch = self._branch(side)
        self._chat.show_branch(branch)
        if self._transcript.has_focus:
            self._transcript.go_to(branch.id)  # the end may be far below

    def show_hit(self, message_id: str, words: Sequence[str]) -> None:
        """Go to a message that a search found, on whichever branch it is, and choose it."""
        chat = self._chat
        tree = chat.conversation.tree
        if message_id not in tree:
            raise BadInput("The message that was found is not in this chat any more.")
        message = tree[message_id]
        if message not in chat.conversation.path:
            self._idle("go to the branch of the message that was found")
            chat.show_branch(message)
        self._transcript.focus()
        self._transcript.go_to(message_id, words)

    def copy(self, value: str) -> str:
        """Copy a prompt with its pasted texts, an answer without its thought, or with `code N` one of its
        code blocks; without N the next one each time.
        """
        what, _, number = value.partition(" ")
        if what not in ("", "code") or not re.fullmatch(r"\d{0,9}", number):
            raise BadInput(f"'{value}' cannot be copied. It is /copy, /copy code or /copy code 2.")
        if not what:
            message = self._chosen() or self._answer()
            pasted = [file.text for file in message.attachments if file.name == PASTED]
            if message.role == "assistant":
                kind, text = "answer", answer_of(message.text)
            else:
                kind, text = "prompt", "\n\n".join([message.text, *pasted])
            self._transcript.app.copy_to_clipboard(text)
            more = " with its pasted text" if pasted else ""
            return f"Copied the {kind}{more} ({counted(len(text), 'character')})."
        message, blocks = self._code()
        last, place = self._copied
        chosen = int(number) if number else place % len(blocks) + 1 if last == message.id else 1
        if not 1 <= chosen <= len(blocks):
            raise BadInput(f"This answer has {counted(len(blocks), 'code block')}.")
        self._copied = (message.id, chosen)
        self._transcript.app.copy_to_clipboard(blocks[chosen - 1])
        lines = len(blocks[chosen - 1].splitlines())
        return f"Copied code block {chosen} of {len(blocks)} ({counted(lines, 'line')})."

    def fold(self) -> None:
        answer = self._answer()
        if not thought_of(answer.text).thought:
            raise BadInput("There are no thoughts in this answer.")
        widget = self._transcript.widgets.get(answer.id)
        if isinstance(widget, Answer):
            widget.unfolded = not widget.unfolded

    def _idle(self, what: str) -> None:
        if self._chat.running is not None:
            stop = self._transcript.app.keys.name("chat.stop")
            raise BadInput(f"An answer is being written. Stop it with {stop}, then {what}.")

    def _chosen(self) -> ChatMessage | None:
        return self._chat.conversation.tree.get(self._transcript.selected)

    def _prompt(self) -> ChatMessage:
        """The chosen prompt, or the one of the chosen answer; the last one if none is chosen."""
        conversation = self._chat.conversation
        message = self._chosen() or next(reversed(conversation.path), None)
        if message is None:
            raise BadInput("There is no prompt yet. Send one first.")
        if message.role == "assistant" and message.parent in conversation.tree:
            return conversation.tree[message.parent]
        return message

    def _answer(self) -> ChatMessage:
        """The chosen answer, or the one of the chosen prompt; the last one if none is chosen."""
        chosen = self._chosen()
        answers = [one for one in self._chat.conversation.path if one.role == "assistant"]
        for answer in reversed(answers):
            if chosen is None or chosen.id in (answer.id, answer.parent):
                return answer
        if self._chat.conversation.path:
            raise BadInput("This prompt has no answer yet. /regenerate answers it.")
        raise BadInput("There is no answer yet. Send a prompt first.")

    def _code(self) -> tuple[ChatMessage, list[str]]:
        """An answer and its code blocks, at least one."""
        answer = self._answer()
        if not (blocks := code_blocks(answer.text)):
            raise BadInput("There is no code block in this answer.")
        return answer, blocks

    def _branch(self, side: str) -> ChatMessage:
        """The branch before or after the one in view."""
        message = self._chosen() or self._branching()
        branches = self._chat.conversation.tree.branches(message)
        if len(branches) < 2:
            raise BadInput("There are no branches here.")
        place = [branch.id for branch in branches].index(message.id) + (1 if side == "after" else -1)
        if not 0 <= place < len(branches):
            where = f"There is no branch {side} {branch_label(branches, message)}"
            if self._chosen():
                raise BadInput(f"{where}.")
            others = self._transcript.app.keys.fill_in("{prompt.browse} goes to the messages before it.")
            raise BadInput(f"{where}, where this chat branches last. {others}")
        return branches[place]

    def _branching(self) -> ChatMessage:
        tree = self._chat.conversation.tree
        children = Counter(map(tree.parent, tree.values()))
        for message in reversed(self._chat.conversation.path):
            if children[tree.parent(message)] > 1:
                return message
        raise BadInput("There are no branches in this chat. /edit and /regenerate make some.")
