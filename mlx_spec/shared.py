"""One target on several Macs: each has a part of every layer, and all write the same text.

Rank 0 leads. The calls of its engine are sent to the others, whose engines repeat them (`follow`), and so is
the plan of each round, which depends on the clock. All else is determined by the tokens; those of each round
are compared between ranks before they are shown.
"""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

import mlx.core as mx
import mlx.nn as nn

from mlx_spec.candidate import NO_CANDIDATE, Candidate
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.guess import Guess
from mlx_spec.engine import Engine
from mlx_spec.loop import Loop
from mlx_spec.policy.policy import Policy
from mlx_spec.ranks import Ranks
from mlx_spec.rows import WAIT, Rows
from mlx_spec.target.model import Progress
from mlx_spec.text import Read, Text
from mlx_spec.types import DrafterName, Options, Round


class SharedEngine(Engine):
    """An engine on each rank: rank 0's is used as any other, the others `follow`.

    Args:
        target: this rank's part of it.
    """

    def __init__(self, target: nn.Module, drafters: Sequence[Drafter], ranks: Ranks, *, context_limit: int):
        with ranks.together():
            super().__init__(target, drafters, context_limit=context_limit)
        self.ranks = ranks
        self._all = [*self.drafters, Guess()]

    def forget(self) -> None:
        self.ranks.send("forget")
        super().forget()

    def forget_drafts(self) -> None:
        self.ranks.send("forget drafts")
        super().forget_drafts()

    def pretend_cached(self, tokens: Sequence[int], unread: DrafterName = "") -> None:
        self.ranks.send("pretend", tokens=list(tokens), unread=unread)
        super().pretend_cached(tokens, unread)

    def next_scores(self, tokens: Sequence[int], options: Options) -> mx.array:
        tokens = self._checked(tokens)  # before others are asked: they would end with the error
        self.ranks.send("scores", tokens=tokens, options=_plain(options))
        with self.ranks.together():
            scores = super().next_scores(tokens, options)
            mx.eval(scores)
        return scores

    def follow(self) -> None:
        """Do what rank 0 does, until it ends. Raises RankLost."""
        rows: SharedRows | None = None
        while True:
            call = self.ranks.receive()
            match call:
                case None:
                    assert rows is not None
                    rows.step()
                case {"do": "rows", "most": most, "drafters": places}:
                    self.drafters = [self._all[place] for place in places]
                    self._write(rows := self._rows(most))
                case {"do": "add", "prompt": prompt, "options": options, **more}:
                    assert rows is not None
                    rows.add(prompt, Options(**options), **more)
                case {"do": "cancel", "text": place}:
                    assert rows is not None
                    rows.cancel(rows.texts[place])
                case {"do": "scores", "tokens": tokens, "options": options}:
                    self.next_scores(tokens, Options(**options))
                case {"do": "pretend", "tokens": tokens, "unread": unread}:
                    self.pretend_cached(tokens, unread)
                case {"do": "forget"}:
                    self.forget()
                case {"do": "forget drafts"}:
                    self.forget_drafts()
                case _:
                    return

    def _rows(self, most: int) -> "SharedRows":
        # Calibration drafts with a Guess, the last of `_all`.
        known = [drafter if drafter in self._all else self._all[-1] for drafter in self.drafters]
        return SharedRows(self.ranks, [self._all.index(drafter) for drafter in known], *self._parts, most)


class SharedRows(Rows):
    """The texts of a shared engine."""

    def __init__(self, ranks: Ranks, drafters: Sequence[int], *parts: Any):
        super().__init__(*parts)
        self._ranks = ranks
        self._unsent: list[dict[str, Any]] = [{"call": "rows", "most": self.most, "drafters": drafters}]
        """Calls for other ranks, sent with the next step: a refused prompt has none, and ends no answer."""
        self._added = 0
        self.texts: dict[int, Text] = {}
        """Texts that have not ended, by order of `add`: `Text.number` differs between ranks."""
        self._errors: list[Exception] = []

    def add(
        self, prompt: Sequence[int], options: Options, *, progress: Progress | None = None, **more: Any
    ) -> Text:
        text = super().add(prompt, options, progress=progress and self._deferring(progress), **more)
        self.texts[self._added] = text
        self._added += 1
        given = {"prompt": text.tokens, "options": _plain(options), "documents": text.documents}
        self._unsent.append({"call": "add", **given, "streamed": text.streamed})
        return text

    def cancel(self, text: Text) -> None:
        for place, each in self.texts.items():
            if each is text and not (text.ended or self.closed):
                self._unsent.append({"call": "cancel", "text": place})
        super().cancel(text)

    def step(self) -> Read:
        self._check()
        while self._unsent:
            self._ranks.send(**self._unsent.pop(0))
        self._ranks.send(None)
        with self._ranks.together():
            read = super().step()
        self.texts = {place: text for place, text in self.texts.items() if not text.ended}
        if self._errors:
            raise self._errors.pop()
        return read

    def _deferring(self, progress: Progress) -> Progress:
        """`progress`, its exceptions raised at the end of the step, as all ranks must finish it."""

        def report(done: int, total: int) -> None:
            try:
                progress(done, total)
            except Exception as error:
                self._errors.append(error)

        return report

    def _read_prompts(self) -> bool:
        """Read one piece: as many tokens as rank 0 reads in the time that other texts may wait."""
        microseconds = self._ranks.decide([max(1, round(1e6 * self._seconds_per_token))])[0]
        self._seconds_per_token = microseconds / 1e6
        return self._read_prompt(WAIT)

    def _begin(self, written: list[Text | None], draft_length: int | None) -> Loop:
        loop = super()._begin(written, draft_length)
        return replace(loop, policy=SharedPolicy(loop.policy, self._ranks))


class SharedPolicy(Policy):
    """Plans by rank 0's policy; compares the tokens of each round between ranks.

    Args:
        policy: this rank's; only rank 0's is asked.
    """

    def __init__(self, policy: Policy, ranks: Ranks):
        self._policy, self._ranks = policy, ranks

    def choose(self, candidates: Sequence[Candidate], length: int) -> tuple[Candidate, int]:
        choices, plan = [NO_CANDIDATE, *candidates], (0, 0)
        if self._ranks.leads:
            candidate, depth = self._policy.choose(candidates, length)
            plan = choices.index(candidate), depth
        place, depth = self._ranks.decide(plan)[:2]
        return choices[place], depth

    def count(self, read: Mapping[int, Round], candidate: Candidate, length: int) -> None:
        self._ranks.compare([(each.drafted, each.tokens) for each in read.values()])
        if self._ranks.leads:
            self._policy.count(read, candidate, length)

    def shadow(self, text: int, candidate: Candidate, right: Sequence[bool]) -> None:
        if self._ranks.leads:
            self._policy.shadow(text, candidate, right)


def _plain(options: Options) -> dict[str, Any]:
    """As JSON values; `Options` takes them back, so what a program adds to them is left out."""
    own = {each.name: getattr(options, each.name) for each in fields(Options)}
    return {**own, "stop_tokens": sorted(options.stop_tokens)}
