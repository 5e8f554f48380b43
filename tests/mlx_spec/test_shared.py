"""One text written by several processes, each with a part of the target's layers."""

import json
from pathlib import Path
from threading import Event
from typing import Any

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, Round
from mlx_spec.candidate import NO_CANDIDATE
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.errors import BadOption, ContextFull, RankLost
from mlx_spec.policy.policy import Fixed
from mlx_spec.ranks import Ranks
from mlx_spec.shared import SharedEngine, SharedPolicy
from tests.app.tiny_pair import write_tiny_pair
from tests.mlx_spec.one_rank import LIMIT, PROMPT, PROMPTS, TOKENS, model
from tests.mlx_spec.tiny_models import together, tokens
from tests.on_ranks import ends, start_ranks

LONG_ANSWER = ["--prompt", "hello", "--raw", "--max-tokens", "3000", "--draft-length", "2"]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What rank 0 printed, and how it ended when rank 1 was killed in the middle of an answer after that."""
    folder = tmp_path_factory.mktemp("two")
    answering = ["generate", *write_tiny_pair(folder).arguments, *LONG_ANSWER]
    ranks = start_ranks(2, ["tests.mlx_spec.one_rank", *answering], folder)
    assert ranks[0].stdout is not None
    printed = ranks[0].stdout.readline()
    ranks[0].stdout.read(1)
    ranks[1].kill()
    code, _, err = ends(ranks)[0]
    assert printed, err
    return {**json.loads(printed), "code": code, "err": err}


def test_two_ranks_write_the_plain_text_whatever_each_plans_and_a_killed_one_ends_the_other(
    two: dict[str, Any],
) -> None:
    """All that one start of them shows."""
    written = two["written"]
    assert len(written["plain"]) == TOKENS and written["drafted"] == written["plain"]
    assert written["drafted afresh"] == written["plain"]
    for place in range(len(PROMPTS)):
        assert written[f"beside others {place}"] == written[f"alone {place}"]
    assert two["accepted"] > 10
    scores = Engine(model(), context_limit=LIMIT).next_scores(PROMPT, Options())
    assert mx.allclose(scores, mx.array(two["scores"]), atol=1e-3)
    assert two["code"] == 3 and "Start all of them again." in two["err"]
    assert "Rank 1: " not in two["err"] and "Traceback" not in two["err"]


def test_a_text_without_scores_is_refused_before_other_ranks_are_asked_and_answers_go_on():
    engine = SharedEngine(model(), [], Ranks(mx.distributed.init()), context_limit=LIMIT)
    for wrong, why in (([], "The text is empty"), ([10**6], "There is no token 1000000")):
        with pytest.raises(BadOption, match=why):
            engine.next_scores(wrong, Options())
    assert len(tokens(engine.generate(PROMPT, Options(max_tokens=3)))) == 3


@pytest.mark.slow
def test_four_ranks_write_what_two_write_and_end_without_an_error(
    two: dict[str, Any], tmp_path: Path
) -> None:
    (code, out, err), *others = ends(start_ranks(4, ["tests.mlx_spec.one_rank"], tmp_path))
    assert code == 0, err
    assert all(other[:2] == (0, "") for other in others), others
    assert json.loads(out)["written"] == two["written"]


@pytest.fixture
def ranks(monkeypatch: pytest.MonkeyPatch) -> "Twin":
    """Rank 0 of two; the other one sends the same as it does."""
    return Twin(monkeypatch)


class Twin(Ranks):
    def __init__(self, patch: pytest.MonkeyPatch) -> None:
        super().__init__(mx.distributed.init())
        self.changed: dict[int, int] = {}
        self.late: mx.array | None = None
        patch.setattr(mx.distributed, "all_gather", self._gather)

    def _gather(self, own: mx.array, group: object) -> mx.array:
        other = mx.array(own if self.late is None else self.late)
        for place, value in self.changed.items():
            other[0, place] = value
        self.last = own
        return mx.concatenate([own, other])


def test_an_undamaged_message_is_accepted(ranks: Twin) -> None:
    assert ranks.decide([3, 4])[:2] == [3, 4]
    ranks.compare("the same")


@pytest.mark.parametrize("place", [0, 1, 5, -1])
def test_a_message_with_one_number_changed_is_refused(ranks: Twin, place: int) -> None:
    ranks.decide([3, 4])
    ranks.changed = {place: 77}
    with pytest.raises(RankLost, match="A message of rank 1 arrived damaged"):
        ranks.decide([3, 4])


def test_an_earlier_message_is_refused(ranks: Twin) -> None:
    ranks.decide([3, 4])
    ranks.late = ranks.last
    with pytest.raises(RankLost, match="A message of rank 1 arrived damaged"):
        ranks.decide([3, 4])


def test_after_a_broken_message_none_is_sent(ranks: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    ranks.changed = {1: 77}
    with pytest.raises(RankLost):
        ranks.decide([3, 4])
    monkeypatch.setattr(mx.distributed, "all_gather", None)
    with pytest.raises(RankLost, match="Start all of them again"):
        ranks.decide([3, 4])
    ranks.end()


def test_a_rank_that_wrote_another_token_ends_the_answer_before_it_is_shown(
    ranks: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = SharedPolicy(Fixed(2), ranks)
    played = Round(drafted=(1, 2), accepted=1, tokens=(1, 3), drafter="lookup", seconds=0.1)
    policy.count({0: played}, NO_CANDIDATE, 9)
    exchange = ranks.exchange
    monkeypatch.setattr(ranks, "exchange", lambda words: [exchange(words)[0], [words[0] + 1]])
    with pytest.raises(RankLost, match="Rank 1 wrote another token than rank 0"):
        policy.count({0: played}, NO_CANDIDATE, 9)


def test_several_texts_are_planned_by_the_policy_for_as_many(ranks: Twin) -> None:
    planned = []

    class Sized(Fixed):
        def of(self, texts: int) -> Fixed:
            return Sized(texts)

        def choose(self, candidates: Any, length: int) -> Any:
            planned.append(self.length)
            return NO_CANDIDATE, 0

    engine = SharedEngine(model(), [LookupDrafter()], ranks, context_limit=LIMIT)
    engine.controller = Sized(0)  # type: ignore[assignment]
    written = together(engine, [*PROMPTS], [Options(max_tokens=4)] * 3)
    assert [len(tokens(rounds)) for rounds in written] == [4, 4, 4]
    assert set(planned) == {4}, "three texts have four places"


def test_other_ranks_hear_nothing_of_a_refused_prompt_and_go_on_with_the_answer_before_it(
    ranks: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    sent: list[str | None] = []
    monkeypatch.setattr(ranks, "send", lambda call, **_: sent.append(call))
    engine = SharedEngine(model(), [], ranks, context_limit=LIMIT)
    answer = engine.generate(PROMPT, Options(max_tokens=3))
    next(answer)
    with pytest.raises(ContextFull):
        engine.generate([1] * LIMIT, Options())
    assert len(tokens(answer)) == 2
    assert sent == ["rows", "add", None, None, None]


def test_a_rank_that_is_silent_is_given_up(ranks: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mlx_spec.ranks.SILENCE", 0.0)
    monkeypatch.setattr("mlx_spec.ranks.LOOK_SECONDS", 0.01)
    given_up = Event()
    ranks.watch(given_up.set)
    assert not given_up.wait(0.1)  # nothing is awaited
    with ranks.together():
        assert given_up.wait(10)
