"""A session turns rounds into marked text, ends it at stop texts, and keeps the text after a cancel."""

from collections.abc import Sequence
from typing import Any

import pytest

from app.engine.chat_prompt import FillIn
from app.engine.events import Piece, PrefillProgressed, PromptCounted, TurnEnded, TurnsDropped
from app.engine.protocol import Answer
from app.engine.session import Message
from app.history.records import AnswerFacts
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from tests.app.engine.playing import USER, play
from tests.app.scripted_pair import ByteTokenizer, scripted_session

WIDE = "naïve café 漢字かな 👩‍👩‍👧‍👦 🇩🇪 e\u0301 ﷽ end"


def test_accepted_bonus_and_plain_tokens_are_marked() -> None:
    session, _ = scripted_session("abcdefgh", draft_length=3)
    added, _ = play(session)
    assert added[0].pieces == (Piece("abc", "accepted"), Piece("d", "bonus"))
    session, _ = scripted_session("abc")
    added, _ = play(session)
    assert {p.mark for event in added for p in event.pieces} == {"plain"}


@pytest.mark.parametrize("draft_length", [0, 1, 2, 3, 5])
def test_wide_characters_stay_whole_over_token_borders_and_rounds_cover_the_answer(draft_length: int) -> None:
    session, _ = scripted_session(WIDE, draft_length)
    added, ended = play(session)
    assert ended.text == WIDE
    assert not any("\ufffd" in p.text for event in added for p in event.pieces)
    rounds = [played for event in added for played in event.played]
    assert len(rounds) == ended.stats.rounds
    assert [r.begin for r in rounds] == [0, *(r.end for r in rounds[:-1])]
    assert rounds[-1].end == len(WIDE)


@pytest.mark.parametrize("draft_length", [0, 3])
@pytest.mark.parametrize(
    ("said", "stops", "text"), [("one EN two END x", ["END"], "one EN two "), ("a END", ["END."], "a END")]
)
def test_scored_tokens_come_with_their_text_and_end_with_it(
    draft_length: int, said: str, stops: list[str], text: str
) -> None:
    session, _ = scripted_session(said, draft_length)
    added, ended = play(session, stop_texts=stops, likeliest=1)
    assert ended.text == text
    assert [event.text for event in added] == ["".join(s.text for s in event.scored) for event in added]
    scored = [each for event in added for each in event.scored]
    assert [(s.begin, s.logprob, s.top) for s in scored] == [
        (place, -ord(letter), ((letter, -ord(letter)),)) for place, letter in enumerate(text)
    ]
    added, _ = play(session)
    assert not any(event.scored for event in added)


def test_every_token_of_a_wide_character_is_scored_with_it() -> None:
    added, ended = play(scripted_session(WIDE, 2)[0], likeliest=0)
    scored = [each for event in added for each in event.scored]
    assert [-each.logprob for each in scored] == list(WIDE.encode()) == list(ended.token_ids)


def test_broken_characters_are_shown_as_such_at_the_end_and_where_they_never_end() -> None:
    _, ended = play(scripted_session([*b"ab", 0xF0, 0x9F])[0])
    assert ended.text == "ab\ufffd"
    added, _ = play(scripted_session([0x80] * 40)[0])
    assert any(event.pieces for event in added[:20])


@pytest.mark.parametrize("draft_length", [0, 1, 2, 3, 4, 7])
@pytest.mark.parametrize(
    ("stops", "text"),
    [(["END"], "one EN two "), (["two", "END"], "one EN "), (["one"], ""), (["é"], "one EN two END caf")],
)
def test_a_stop_text_ends_the_answer_wherever_token_borders_lie(
    draft_length: int, stops: list[str], text: str
) -> None:
    session, engine = scripted_session("one EN two END café and more", draft_length)
    _, ended = play(session, stop_texts=stops)
    assert (ended.text, ended.finish_reason) == (text, "stop")
    assert bytes(ended.token_ids).decode() == text
    assert ended.stopped_at == stops[0] and text + stops[0] in "one EN two END café and more"
    assert ended.stats.tokens == len((text + stops[0]).encode()), "up to the stop text, drafted or not"
    assert ended.stats.draft_n_accepted <= ended.stats.draft_n <= ended.stats.tokens
    assert engine.cancelled == 1


class Thinking(ByteTokenizer):
    """Its prompts end in a thought's mark."""

    def apply_chat_template(self, *args: Any, **more: Any) -> list[int]:
        return [*super().apply_chat_template(*args, **more), *b"<think>\n"]


def test_an_answer_whose_thought_was_opened_in_the_prompt_has_the_numbers_of_the_whole() -> None:
    added, ended = play(scripted_session("hm", tokenizer=Thinking())[0])
    rounds = tuple(played for event in added for played in event.played)
    assert AnswerFacts("pair", AnswerOptions(), rounds=rounds).covers_all
    assert [ended.text[played.begin : played.end] for played in rounds] == ["<think>\nh", "m", ""]


@pytest.mark.parametrize("stop", ["\n", "think>\nh", "\nhm", "<", ">\n"])
def test_no_stop_text_is_found_in_a_thoughts_mark_at_the_end_of_the_prompt(stop: str) -> None:
    session, _ = scripted_session("hm", tokenizer=Thinking())
    _, ended = play(session, stop_texts=[stop])
    assert (ended.text, ended.stopped_at) == ("<think>\nhm", None)


def test_text_that_only_begins_like_a_stop_text_is_shown_in_the_end() -> None:
    session, _ = scripted_session("say EN", draft_length=3)
    _, ended = play(session, stop_texts=["END"])
    assert (ended.text, ended.token_ids) == ("say EN", tuple(b"say EN"))
    assert (ended.finish_reason, ended.stats.tokens) == ("stop", 7)


def test_an_answer_cut_by_max_tokens_ends_by_length() -> None:
    _, ended = play(scripted_session("abcdefgh")[0], options=AnswerOptions(max_tokens=5))
    assert (ended.text, ended.finish_reason) == ("abcde", "length")


def test_cancelling_between_rounds_keeps_the_text() -> None:
    session, engine = scripted_session("abcdefgh", draft_length=1)
    seen: list[int] = []
    _, ended = play(session, cancelled=lambda: seen.append(1) or len(seen) > 4)
    assert ended.finish_reason == "cancelled"
    assert 0 < len(ended.text) < 8
    assert engine.cancelled == 1


def test_cancelling_while_the_prompt_is_read_ends_without_text() -> None:
    session, engine = scripted_session("abc")
    asked: list[int] = []
    *reading, ended = session.answer(
        Answer(0, USER, AnswerOptions()), lambda: asked.append(1) or len(asked) > 2
    )
    assert reading == [PromptCounted(8), PrefillProgressed(0, 8), PrefillProgressed(4, 8)]
    assert isinstance(ended, TurnEnded) and (ended.text, ended.finish_reason) == ("", "cancelled")
    assert engine.cancelled == 1


def test_raw_text_is_read_as_it_is_and_documents_reach_the_engine_as_tokens() -> None:
    session, engine = scripted_session("ok")
    play(session, prompt="just this", documents=["copy me"])
    assert bytes(engine.prompts[0]) == b"just this"
    assert engine.documents == [[list(b"copy me")]]


def test_text_that_is_continued_keeps_its_space_and_an_answer_in_a_chat_has_none() -> None:
    class Stripping(ByteTokenizer):
        """As in Llama 2's family, decoding drops a leading space."""

        def get_vocab(self) -> dict[str, int]:
            return {"<fim_prefix>": 1, "<fim_suffix>": 2, "<fim_middle>": 3}

        def encode(self, text: str, add_special_tokens: bool = True, **_: bool) -> list[int]:
            return super().encode(text)

        def decode(self, ids: Sequence[int], clean_up_tokenization_spaces: bool = False) -> str:
            return super().decode(ids).removeprefix(" ")

    session, _ = scripted_session(" is", tokenizer=Stripping())
    for prompt in ("it", tuple(b"it"), FillIn("it", "!")):
        assert play(session, prompt=prompt)[1].text == " is"
    assert play(session)[1].text == "is"


def test_an_empty_prompt_and_a_model_without_chat_template_are_refused() -> None:
    tokenizer = ByteTokenizer()
    tokenizer.has_chat_template = False
    session, _ = scripted_session("ok", tokenizer=tokenizer)
    for prompt, why in (("", "empty"), (USER, "--raw")):
        with pytest.raises(BadInput, match=why):
            play(session, prompt=prompt)


@pytest.mark.parametrize(
    ("answer", "draft_length", "drafted", "accepted", "own"),
    [
        ("naïve", 0, (), 0, "n"),
        ("naïve", 1, ("n",), 1, "a"),
        ("naïve", 3, ("n", "a", "\ufffd"), 3, "\ufffd"),
        ("ab", 3, ("a", "b", "\x00"), 2, ""),
    ],
)
def test_a_round_is_described_as_text(
    answer: str, draft_length: int, drafted: tuple[str, ...], accepted: int, own: str
) -> None:
    added, _ = play(scripted_session(answer, draft_length)[0])
    first = added[0].played[0]
    assert (first.drafted, first.accepted, first.own) == (drafted, accepted, own)


def test_an_answer_that_is_begun_goes_on_from_its_own_words_and_room_is_kept_for_them() -> None:
    session, engine = scripted_session(" 漢字", draft_length=2, context_limit=200)
    _, ended = play(session, begun="so far 日")
    assert bytes(engine.prompts[0]).decode() == "<user>hiso far 日"
    assert ended.text == " 漢字"
    history: list[Message] = [
        {"role": "user", "content": "x" * 60}, {"role": "assistant", "content": "y" * 60}, *USER,
    ]  # fmt: skip
    assert session.prompt_ids(history, 40)[1] == 0
    events = list(session.answer(Answer(0, tuple(history), AnswerOptions(max_tokens=40), begun="z" * 60)))
    assert events[0] == TurnsDropped(2)
    assert bytes(engine.prompts[-1]).decode() == "<user>hi" + "z" * 60


@pytest.mark.parametrize(
    ("error", "why"),
    [
        (TypeError("Can only get item pairs from a mapping."), "Can only get item pairs from a mapping"),
        (AssertionError(), "AssertionError"),
    ],
)
def test_a_template_that_fails_on_what_it_was_given_refuses_the_conversation(
    error: Exception, why: str
) -> None:
    class Strict(ByteTokenizer):
        def apply_chat_template(self, messages: object, add_generation_prompt: bool) -> list[int]:
            raise error

    session, _ = scripted_session("ok", tokenizer=Strict())
    with pytest.raises(
        BadInput, match=rf"refuses this conversation: {why}\. Change .*--raw does it"
    ) as refused:
        play(session)
    assert ".." not in str(refused.value)


def test_a_template_that_leaves_nothing_refuses_the_conversation_rather_than_the_prompt() -> None:
    class Silent(ByteTokenizer):
        def apply_chat_template(self, messages: object, add_generation_prompt: bool) -> list[int]:
            return []

    session, _ = scripted_session("ok", tokenizer=Silent())
    with pytest.raises(BadInput, match="chat template refuses this conversation: it makes an empty prompt"):
        play(session)


def test_instructions_between_messages_reach_a_template_that_takes_them_only_first() -> None:
    class Strict(ByteTokenizer):
        def apply_chat_template(self, messages: Any, add_generation_prompt: bool) -> list[int]:
            if any(message["role"] == "system" for message in messages[1:]):
                raise ValueError("System message must be at the beginning.")
            return super().apply_chat_template(messages, add_generation_prompt)

    roles = ("system", "system", "user", "system", "assistant", "system")
    prompt: list[Message] = [{"role": role, "content": str(at)} for at, role in enumerate(roles)]
    session, _ = scripted_session("ok", tokenizer=Strict())
    assert bytes(session.prompt_ids(prompt, None)[0]) == b"<system>0\n\n1<user>2\n\n3<assistant>4<user>5"
    session, _ = scripted_session("ok")
    assert bytes(session.prompt_ids(prompt[1:4], None)[0]) == b"<system>1<user>2<system>3"
