"""A prompt that waits for the answer in progress."""

from dataclasses import dataclass

from app.history.records import Attachment


@dataclass(frozen=True, slots=True)
class Waiting:
    """A prompt written while an answer ran."""

    text: str
    attachments: tuple[Attachment, ...] = ()
