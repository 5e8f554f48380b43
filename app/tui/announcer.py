"""Says in the chat what happens beside it: mistakes in config.toml, downloads, what becomes of saving."""

import queue
from typing import TYPE_CHECKING

from app.history.saving import News
from app.tui.widgets.download_list import outcome, paused_line, short_line

if TYPE_CHECKING:
    from app.tui.app import ChatApp


class Announcer:
    """Looks when it is asked to, on the screen's thread."""

    def __init__(self, app: "ChatApp") -> None:
        self._app = app
        self._begun = False
        self.saving: queue.SimpleQueue[News] = queue.SimpleQueue()
        """What the history's thread has to say; it may put from there."""

    def begin(self) -> None:
        """Say what was found at the start, once."""
        if self._begun:
            return
        self._begun, app = True, self._app
        if paused := app.pulls.paused:
            app.chat.transcript.note(paused_line(paused, app.keys))
        for problem in app.config.problems:
            app.chat.transcript.note(problem, "warning")

    def announce(self) -> None:
        """Say what happened since the last time."""
        app = self._app
        for job in app.pulls.advance():
            app.chat.transcript.note(outcome(job, app.keys), "error" if job.state == "failed" else "info")
        if app.pulls.problem:
            app.chat.transcript.note(app.pulls.problem, "warning")
            app.pulls.problem = ""
        app.chat.state.take_download(short_line(app.pulls.unfinished))
        while not self.saving.empty():
            app.history_actions.report_saving(self.saving.get())
