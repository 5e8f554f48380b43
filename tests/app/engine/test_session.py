"""A session turns rounds into marked text, ends it where it must, and keeps what there was."""

from collections.abc import Sequence

import pytest

from app.engine.events import Piece, PrefillProgressed, TextAdded, TurnEnded, TurnsDropped
from app.engine.session import Message, Session
from app.shell.errors import BadInput
from mlx_spec.types import Options
from tests.app.scripted_pair import ByteTokenizer, scripted_session

USER: list[Message] = [{"role": "user", "content": "hi"}]
WIDE = "naïve café 漢字かな 👩‍👩‍👧‍👦 🇩🇪 e\u0301 ﷽ end"


def play(session: Session, **kwargs: object) -> tuple[list[TextAdded], TurnEnded]:
    options = kwargs.pop("options", Options())
    events = list(session.answer(kwargs.pop("prompt", USER), options, **kwargs))  # type: ignore[arg-type]
    ended = events[-1]
    assert isinstance(ended, TurnEnded)
    return [e for e in events if isinstance(e, TextAdded)], ended


def shown(added: list[TextAdded]) -> str:
    return "".join(p.text for event in added for p in event.pieces)


def test_accepted_bonus_and_plain_tokens_are_marked() -> None:
    session, _ = scripted_session("abcdefgh", draft_length=3)
    added, _ = play(session)
    assert added[0].pieces == (Piece("abc", "accepted"), Piece("d", "bonus"))
    session, _ = scripted_session("abc")
    added, _ = play(session)
    assert {p.mark for event in added for p in event.pieces} == {"plain"}


@pytest.mark.parametrize("draft_length", [0, 1, 2, 3, 5])
def test_wide_characters_and_emoji_stay_whole_over_token_borders(draft_length: int) -> None:
    session, _ = scripted_session(WIDE, draft_length)
    added, ended = play(session)
    assert shown(added) == ended.text == WIDE
    assert "\ufffd" not in "".join(p.text for event in added for p in event.pieces)


def test_a_broken_character_at_the_end_is_shown_as_broken() -> None:
    session, _ = scripted_session([*b"ab", 0xF0, 0x9F])
    added, ended = play(session)
    assert shown(added) == ended.text == "ab\ufffd"


def test_bytes_that_never_form_a_character_do_not_hold_the_text_back_for_ever() -> None:
    session, _ = scripted_session([0x80] * 40)
    added, _ = play(session)
    assert shown(added[:20])


@pytest.mark.parametrize("draft_length", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    ("stops", "text"),
    [(["END"], "one EN two "), (["two", "END"], "one EN "), (["one"], ""), (["é"], "one EN two END caf")],
)
def test_a_stop_text_ends_the_answer_wherever_token_borders_lie(
    draft_length: int, stops: list[str], text: str
) -> None:
    session, engine = scripted_session("one EN two END café and more", draft_length)
    added, ended = play(session, stop_texts=stops)
    assert shown(added) == ended.text == text
    assert ended.finish_reason == "stop"
    assert bytes(ended.token_ids).decode() == text
    assert engine.closed == 1


def test_text_that_only_begins_like_a_stop_text_is_shown_in_the_end() -> None:
    session, _ = scripted_session("say EN", draft_length=3)
    added, ended = play(session, stop_texts=["END"])
    assert shown(added) == ended.text == "say EN"
    assert ended.token_ids == tuple(b"say EN")
    assert (ended.finish_reason, ended.stats.tokens) == ("stop", 7)


def test_an_answer_cut_by_max_tokens_says_length() -> None:
    session, _ = scripted_session("abcdefgh")
    _, ended = play(session, options=Options(max_tokens=5))
    assert (ended.text, ended.finish_reason) == ("abcde", "length")


def test_cancelling_between_rounds_keeps_the_text() -> None:
    session, engine = scripted_session("abcdefgh", draft_length=1)
    seen: list[int] = []
    added, ended = play(session, cancelled=lambda: seen.append(1) or len(seen) > 4)
    assert ended.finish_reason == "cancelled"
    assert shown(added) == ended.text
    assert 0 < len(ended.text) < 8
    assert engine.closed == 1


def test_cancelling_while_the_prompt_is_read_ends_without_text() -> None:
    session, engine = scripted_session("abc")
    seen: list[PrefillProgressed] = []
    added, ended = play(session, progress=seen.append, cancelled=lambda: len(seen) > 1)
    assert (added, ended.text, ended.finish_reason) == ([], "", "cancelled")
    assert (seen[0].done, seen[0].total) == (0, len("<user>hi")) and 0 < seen[-1].done < seen[-1].total
    assert engine.closed == 1


def test_oldest_turns_are_dropped_only_after_an_event_and_instructions_stay() -> None:
    history: list[Message] = [{"role": "system", "content": "be kind"}, *long_history(6)]
    session, engine = scripted_session("ok", context_limit=150)
    first = next(iter(session.answer(history, Options(max_tokens=40))))
    assert isinstance(first, TurnsDropped)
    ids, dropped = session.prompt_ids(history, 40)
    text = bytes(ids).decode()
    assert first.count == dropped == 2 * next(turn for turn in range(6) if f"question {turn}" in text)
    assert text.startswith("<system>be kind<user>question") and text.endswith("<user>last")
    assert len(ids) <= 150 - 37


class CountingTokenizer(ByteTokenizer):
    """Counts how often a conversation was read."""

    def __init__(self) -> None:
        self.read = 0

    def apply_chat_template(
        self, messages: Sequence[dict[str, str]], add_generation_prompt: bool
    ) -> list[int]:
        self.read += 1
        return super().apply_chat_template(messages, add_generation_prompt)


def long_history(turns: int, last: str = "last") -> list[Message]:
    messages: list[Message] = []
    for turn in range(turns):
        messages.append({"role": "user", "content": f"question {turn} "})
        messages.append({"role": "assistant", "content": "x" * (turn % 7)})
    return [*messages, {"role": "user", "content": last}]


@pytest.mark.parametrize("limit", [40, 200, 1000, 3000, 60_000])
def test_a_long_conversation_is_fitted_in_few_tries_and_loses_no_turn_that_fits(limit: int) -> None:
    tokenizer, history = CountingTokenizer(), long_history(1000)
    session, _ = scripted_session("ok", tokenizer=tokenizer, context_limit=limit)
    ids, dropped = session.prompt_ids(history, limit // 4)
    assert tokenizer.read <= 12
    room = limit - limit // 4
    assert len(ids) <= room and ids == session.prompt_ids(history[dropped:], limit // 4)[0]
    assert not dropped or session.prompt_ids(history[dropped - 2 :], limit // 4) == (ids, 2)


def test_a_last_message_that_does_not_fit_is_left_alone() -> None:
    session, _ = scripted_session("ok", context_limit=20)
    ids, dropped = session.prompt_ids(long_history(3, "y" * 50), 4)
    assert (bytes(ids), dropped) == (b"<user>" + b"y" * 50, 6)


def test_instructions_that_fill_the_context_are_named() -> None:
    session, _ = scripted_session("ok", context_limit=20)
    with pytest.raises(BadInput, match="has 30 tokens with the chat's instructions.*holds 20"):
        session.prompt_ids([{"role": "system", "content": "z" * 14}, *USER], 4)


def test_cancelling_while_a_conversation_is_fitted_ends_at_once_without_text() -> None:
    tokenizer = CountingTokenizer()
    session, engine = scripted_session("ok", tokenizer=tokenizer, context_limit=200)
    added, ended = play(session, prompt=long_history(1000), cancelled=lambda: True)
    assert (added, ended.text, ended.finish_reason) == ([], "", "cancelled")
    assert tokenizer.read == 1 and not engine.prompts


def test_raw_text_is_read_as_it_is_and_documents_reach_the_engine_as_tokens() -> None:
    session, engine = scripted_session("ok")
    play(session, prompt="just this", documents=["copy me"])
    assert bytes(engine.prompts[0]) == b"just this"
    assert engine.documents == [[list(b"copy me")]]


@pytest.mark.parametrize(
    ("asked", "why"),
    [({"prompt": ""}, "empty"), ({}, "--raw")],
)
def test_what_cannot_be_answered_is_refused(asked: dict[str, object], why: str) -> None:
    tokenizer = ByteTokenizer()
    tokenizer.has_chat_template = False
    session, _ = scripted_session("ok", tokenizer=tokenizer)
    with pytest.raises(BadInput, match=why):
        play(session, **asked)


@pytest.mark.parametrize("draft_length", [0, 1, 3])
def test_rounds_are_described_as_text_and_cover_the_answer_without_gap_or_overlap(draft_length: int) -> None:
    session, _ = scripted_session(WIDE, draft_length)
    added, ended = play(session)
    rounds = [played for event in added for played in event.played]
    assert len(rounds) == ended.stats.rounds
    assert [r.begin for r in rounds] == [0, *(r.end for r in rounds[:-1])]
    assert rounds[-1].end == len(ended.text)
    first = rounds[0]
    assert first.drafted == tuple("naï"[:draft_length]) or first.drafted == ("n", "a", "\ufffd")
    assert (first.accepted, first.own) == (draft_length, "naï"[draft_length : draft_length + 1] or "\ufffd")


def test_a_rejected_draft_is_described_beside_the_targets_own_token() -> None:
    session, _ = scripted_session("ab", draft_length=3)
    added, _ = play(session)
    played = added[0].played[0]
    assert played.drafted == ("a", "b", "\x00")
    assert played.accepted == 2


def test_an_answer_that_is_begun_goes_on_from_its_own_words() -> None:
    session, engine = scripted_session(" 漢字", draft_length=2)
    added, ended = play(session, begun="so far 日")
    assert bytes(engine.prompts[0]).decode() == "<user>hiso far 日"
    assert shown(added) == ended.text == " 漢字"


def test_room_is_kept_for_what_the_answer_began_with() -> None:
    history: list[Message] = [
        {"role": "user", "content": "x" * 60}, {"role": "assistant", "content": "y" * 60}, *USER,
    ]  # fmt: skip
    session, engine = scripted_session("ok", context_limit=200)
    assert session.prompt_ids(history, 40)[1] == 0
    events = list(session.answer(history, Options(max_tokens=40), begun="z" * 60))
    assert events[0] == TurnsDropped(2)
    assert bytes(engine.prompts[-1]).decode() == "<user>hi" + "z" * 60
