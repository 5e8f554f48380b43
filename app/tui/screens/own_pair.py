"""A pair of your own: two repositories or folders, checked before they are added."""

import threading
from typing import Literal

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from app.tui.keys.keymap import bind
from app.tui.screens.opened import OpenedScreen
from app.tui.widgets.download_list import progress_line
from app.tui.widgets.field import Field
from models.errors import BadSource, ModelsError, PullCancelled
from models.hub.download import check
from models.hub.progress import Progress
from models.pairs.catalogue import Pair, fitting_draft
from models.pairs.own_pairs import add_own, describe_own, known_pair, name_own
from models.pairs.pair import PairSpec, Source, read_source


class OwnPairScreen(ModalScreen[Pair | None], OpenedScreen[Pair | None]):
    """Returns the pair once its files were found and its tokenizers agree, or at once if it is in the
    list already; None for Esc."""

    HELP = """\
Enter fetches the small files of target and draft and checks that they fit together. Without a draft only \
drafters that need no files, or were trained here, are used."""

    AUTO_FOCUS = ""  # It would scroll to the field, but later, when a message below may be in view.

    BINDINGS = [
        bind("escape", "dismiss", "Cancel", "own.leave", "Stop checking and close"),
        # Priority, so that letters typed right after it go into the other field.
        bind("tab", "app.focus_next", "", "own.next", "The other field", priority=True),
        bind("shift+tab", "app.focus_previous", "", "own.before", "The other field", priority=True),
    ]

    def __init__(self, target: str = "") -> None:
        super().__init__()
        self._target = target
        self._stop = threading.Event()
        self._checking = False

    def parts(self) -> ComposeResult:
        with VerticalScroll(id="own-pair", can_focus=False):
            yield Static("Target: a Hub repository (org/name) or a folder")
            example = "mlx-community/Qwen3-8B-4bit"
            yield Field(self._target, placeholder=example, id="own-target", select_on_focus=False)
            yield Static("Draft: a smaller model of the same family, or none")
            yield Field(placeholder="left empty, one that fits", id="own-draft", select_on_focus=False)
            hint = self.app.keys.fill_in("Enter checks both. {own.leave} closes.")
            yield Static(hint, id="message", markup=False)

    async def on_mount(self) -> None:
        self.query_one("#own-pair").border_title = "A pair of your own"
        target = self.query_one("#own-target", Input)
        self.set_focus(target, scroll_visible=False)
        if self._target:
            await target.action_submit()

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        try:
            if not self.query_one("#own-draft", Input).value.strip():
                self._suggest_draft(self._source("target"))
            elif known := known_pair(self._source("target"), self._draft()):
                self.dismiss(known)
            elif not self._checking:
                spec = name_own(PairSpec("", self._source("target"), self._draft()))
                self._checking = True
                self.show_message("Checking…")
                self.run_worker(lambda: self._check(spec), thread=True)
        except ModelsError as error:
            self.show_message(f"✗ {error}")

    def on_unmount(self) -> None:
        self._stop.set()

    def show_message(self, text: str) -> None:
        super().show_message(text)
        if not self.was_closed:  # in a low terminal a long one would end below
            self.query_one("#own-pair").anchor()

    def _suggest_draft(self, target: Source) -> None:
        draft = self.query_one("#own-draft", Input)
        known = fitting_draft(target)
        draft.value = known or "none"
        unknown = "No fitting draft is known. Enter goes on without one; or name one."
        self.show_message("This draft should fit. Enter checks both." if known else unknown)
        draft.select_all()  # a name typed here takes its place
        draft.focus()

    def _draft(self) -> Source | None:
        is_none = self.query_one("#own-draft", Input).value.strip().lower() == "none"
        return None if is_none else self._source("draft")

    def _source(self, which: Literal["target", "draft"]) -> Source:
        """The model named in one of the two fields.

        Raises:
            BadSource: the field is empty, or names neither a folder nor a repository.
        """
        text = self.query_one(f"#own-{which}", Input).value.strip()
        if not text:
            raise BadSource("Name a target first: a Hub repository (org/name) or a folder.")
        return read_source(text)

    def _check(self, spec: PairSpec) -> None:
        try:
            progress: Progress | None = None
            for progress in check(spec, cancelled=self._stop.is_set):
                self.from_thread(self.show_message, progress_line(spec.name, progress))
            assert progress is not None, "a check ends with its last progress"
            pair = add_own(describe_own(spec, progress.totals))
        except PullCancelled:
            return
        except (ModelsError, OSError) as error:
            self.from_thread(self._refuse, str(error))
        else:
            self.from_thread(self.dismiss, pair)

    def _refuse(self, why: str) -> None:
        self._checking = False
        self.show_message(f"✗ {why}")
