"""The logs of a chat's answers, in the order the answers were begun."""

from collections.abc import Iterable, Sequence
from typing import overload

from app.chat.answer_log import AnswerLog
from app.history.records import ChatMessage


class ChatLogs(Sequence[AnswerLog]):
    """Answers without a round have none. An answer that is written on keeps its place."""

    def __init__(self) -> None:
        self._logs: dict[str, AnswerLog] = {}

    def __len__(self) -> int:
        return len(self._logs)

    @overload
    def __getitem__(self, place: int) -> AnswerLog: ...
    @overload
    def __getitem__(self, place: slice) -> list[AnswerLog]: ...
    def __getitem__(self, place: int | slice) -> AnswerLog | list[AnswerLog]:
        return list(self._logs.values())[place]

    def fill(self, messages: Iterable[ChatMessage]) -> None:
        """Take the logs of another chat in their place."""
        self._logs.clear()
        for message in messages:
            self._put(message)

    def begin(self, answer: ChatMessage, pair: str) -> AnswerLog:
        """The log of an answer that begins to grow, or grows again."""
        facts, log = answer.facts, AnswerLog(pair)
        if answer.text and facts is not None:
            log = AnswerLog.continued(pair, answer.text, facts.rounds, facts.stats)
        self._logs[answer.id] = log
        return log

    def take_back(self, answer: ChatMessage) -> None:
        """What began came to nothing: the answer is as it was."""
        if not self._put(answer):
            del self._logs[answer.id]

    def _put(self, message: ChatMessage) -> bool:
        facts = message.facts
        if facts is None or not facts.rounds:
            return False
        self._logs[message.id] = AnswerLog.saved(facts.pair, message.text, facts.rounds, facts.stats)
        return True
