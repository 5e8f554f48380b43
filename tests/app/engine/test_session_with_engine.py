"""A session on the real engine: one turn must not affect the next."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from app.commands.arguments import PairArguments
from app.commands.loading import loaded_pair
from app.engine.chat_prompt import Message
from app.engine.events import TextAdded, TurnEnded
from app.engine.protocol import Answer
from app.engine.session import Session
from app.settings.options import AnswerOptions
from mlx_spec import Engine
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from models.load.engine import LoadedPair
from tests.app.tiny_pair import TinyPair
from tests.mlx_spec.proof_drafters import SHAPES, Branching

HELLO = (Message(role="user", content="hello"),)


@pytest.fixture(scope="session")
def session(tiny_pair: TinyPair) -> Session:
    return fresh(tiny_pair)


def loaded(pair: TinyPair) -> LoadedPair:
    return loaded_pair(PairArguments(target=str(pair.target), draft=str(pair.draft)).chosen())


def fresh(pair: TinyPair) -> Session:
    return Session(loaded(pair))


def answer(
    session: Session,
    prompt: Sequence[Message],
    options: AnswerOptions,
    cancelled: Callable[[], bool] = lambda: False,
    begun: str = "",
) -> TurnEnded:
    *_, ended = session.answer(Answer(0, tuple(prompt), options, begun=begun), cancelled)
    assert isinstance(ended, TurnEnded)
    assert not options.draft_length or ended.finish_reason == "cancelled" or ended.stats.draft_n
    return ended


@pytest.mark.parametrize("draft_length", [0, 3])
def test_the_turn_after_a_cancelled_one_is_right(
    session: Session, tiny_pair: TinyPair, draft_length: int
) -> None:
    options = AnswerOptions(max_tokens=24, draft_length=draft_length)
    asked: list[int] = []
    stopped = answer(session, HELLO, options, cancelled=lambda: asked.append(1) or len(asked) > 3)
    assert stopped.finish_reason == "cancelled"
    history = [*HELLO, Message(role="assistant", content=stopped.text), Message(role="user", content="again")]
    after = answer(session, history, options)
    assert after.token_ids == answer(fresh(tiny_pair), history, options).token_ids


def test_before_a_fresh_answer_the_engine_forgets_drafts_as_all_ranks_must_unless_another_is_written(
    session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    forgot: list[Engine] = []
    monkeypatch.setattr(Engine, "forget_drafts", lambda engine: forgot.append(engine))
    asked = Answer(0, HELLO, AnswerOptions(max_tokens=12), fresh=True)
    for _ in range(2):
        list(session.answer(asked))
    assert len(forgot) == 2
    other = session.answer(replace(asked, fresh=False))
    next(event for event in other if isinstance(event, TextAdded))
    list(session.answer(asked))
    assert len(forgot) == 2 and list(other)


def test_cancelling_in_the_middle_of_a_long_prompt_leaves_the_next_turn_right(
    session: Session, tiny_pair: TinyPair
) -> None:
    options = AnswerOptions(max_tokens=24, temperature=0.9, seed=7)
    long = [Message(role="user", content="the small model guesses " * 300)]
    stopped = answer(session, long, options, cancelled=lambda: True)
    assert (stopped.finish_reason, stopped.text) == ("cancelled", "")
    after = answer(session, HELLO, options)
    assert after.token_ids == answer(fresh(tiny_pair), HELLO, options).token_ids


@pytest.mark.parametrize("draft_length", [0, 3])
def test_an_answer_stopped_and_continued_is_the_answer_never_stopped(
    session: Session, draft_length: int
) -> None:
    # The model is random, and its text does not always encode to the same tokens again.
    options, part = next(
        (options, part)
        for seed in range(20)
        if (options := AnswerOptions(max_tokens=24, temperature=0.9, seed=seed, draft_length=draft_length))
        and (part := answer(session, HELLO, replace(options, max_tokens=5)))
        and part.token_ids == tuple(session.prompt_ids(part.text, 1)[0])
    )
    whole = answer(session, HELLO, options)
    rest = answer(session, HELLO, replace(options, max_tokens=19), begun=part.text)
    assert part.token_ids == whole.token_ids[:5]
    assert part.token_ids + rest.token_ids == whole.token_ids


def test_of_a_tree_the_branch_that_was_accepted_is_shown_first(tiny_pair: TinyPair) -> None:
    pair = loaded_pair(PairArguments(target=str(tiny_pair.target), draft=str(tiny_pair.draft)).chosen())
    draft = next(drafter for drafter in pair.engine.drafters if isinstance(drafter, ModelDrafter))
    branching = Branching(draft.cached.model, SHAPES["binary"])
    engine = Engine(pair.engine.target.model, [branching], context_limit=pair.context_limit)
    options = AnswerOptions(max_tokens=24, draft_length=3)
    session = Session(replace(pair, engine=engine))
    events = [event for event in session.answer(Answer(0, HELLO, options)) if isinstance(event, TextAdded)]
    rounds = [played for event in events for played in event.played if played.drafted]
    assert {played.tree_depth for played in rounds} <= {1, 2, 3}
    assert any(0 < played.accepted for played in rounds)
    written = "".join("".join(r.drafted[: r.accepted]) + r.own for event in events for r in event.played)
    assert written == "".join(piece.text for event in events for piece in event.pieces)


def test_an_answer_asked_for_afresh_drafts_nothing_that_the_same_answer_before_taught(
    tiny_pair: TinyPair,
) -> None:
    pair = loaded_pair(PairArguments(target=str(tiny_pair.target), draft=str(tiny_pair.draft)).chosen())
    engine = Engine(pair.engine.target.model, [RecyclingDrafter()], context_limit=pair.context_limit)
    session = Session(replace(pair, engine=engine))
    options = AnswerOptions(max_tokens=60, temperature=0.6, seed=7, drafter="recycling", draft_length=3)

    def accepted(*, fresh: bool) -> int:
        *_, ended = session.answer(Answer(0, HELLO, options, fresh=fresh))
        assert isinstance(ended, TurnEnded)
        return ended.stats.draft_n_accepted

    first = accepted(fresh=True)
    assert accepted(fresh=True) == first < accepted(fresh=False)


def test_an_answer_asked_for_afresh_takes_nothing_from_others_in_progress(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch
) -> None:
    pair, forgotten = loaded(tiny_pair), list[str]()
    session = Session(pair)
    for drafter in pair.engine.drafters:
        monkeypatch.setattr(drafter, "forget", lambda name=drafter.name: forgotten.append(name))
    other = session.answer(Answer(0, HELLO, AnswerOptions(max_tokens=40)))
    while not isinstance(next(other), TextAdded):
        continue
    afresh = Answer(1, HELLO, AnswerOptions(max_tokens=4), fresh=True)
    list(session.answer(afresh))
    assert not forgotten
    list(other)
    list(session.answer(afresh))
    assert tuple(forgotten) == session.info.drafters
