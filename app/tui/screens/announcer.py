"""Says in the chat what happens beside it: mistakes in config.toml, downloads, what becomes of saving."""

import queue
from collections.abc import Sequence

from app.chat.history_actions import HistoryActions
from app.chat.pull_queue import PullQueue
from app.history.saving import News
from app.tui.keys.in_force import Keys
from app.tui.widgets.below import Below
from app.tui.widgets.conversation_view import ConversationView
from app.tui.widgets.download_list import outcome, paused_line, short_line


class Announcer:
    """Looks when it is asked to, on the screen's thread."""

    def __init__(
        self,
        view: ConversationView,
        below: Below,
        keys: Keys,
        pulls: PullQueue,
        problems: Sequence[str],
        saving: queue.SimpleQueue[News],
        history: HistoryActions,
    ) -> None:
        """`problems`: mistakes in config.toml; `saving`: what the history's thread reports."""
        self._view = view
        self._below = below
        self._keys = keys
        self._pulls = pulls
        self._problems = problems
        self._saving = saving
        self._history = history
        self._begun = False

    def begin(self) -> None:
        """Say what was found at the start, once."""
        if self._begun:
            return
        self._begun = True
        if paused := self._pulls.paused:
            self._view.note(paused_line(paused, self._keys))
        for problem in self._problems:
            self._view.note(problem, "warning")

    def announce(self) -> None:
        """Say what happened since the last time."""
        for job in self._pulls.advance():
            self._view.note(outcome(job, self._keys), "error" if job.state == "failed" else "info")
        if self._pulls.problem:
            self._view.note(self._pulls.problem, "warning")
            self._pulls.problem = ""
        self._below.show_download(short_line(self._pulls.unfinished))
        while not self._saving.empty():
            self._history.report_saving(self._saving.get())
