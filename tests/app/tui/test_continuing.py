"""Stopped answers are continued, and their numbers cover both parts."""

from dataclasses import replace
from pathlib import Path

from app.history.records import AnswerFacts, Attachment
from app.settings.options import AnswerOptions
from tests.app.history.some_chat import STATS, answer, prompt
from tests.app.history.some_chat import chat as chat_record
from tests.app.tui.chat_driver import OpenChat
from tests.app.tui.test_chat import TEXT
from tests.app.tui.test_saved_chats import put


async def test_a_stopped_answer_goes_on_names_what_cut_it_and_outlasts_a_failure(open_chat: OpenChat) -> None:
    async with open_chat(options=AnswerOptions(max_tokens=2)) as chat:
        first = await chat.ask("echo x")
        assert first.text == "echo x|" and "length limit" in first.stats
        await chat.settled(by="/continue")
        await chat.until(lambda: chat.answers[0].text == "echo x|echo x|echo x|")
        assert len(chat.app.state.conversation.tree) == 2
        await chat.ask("fail or not")
        prompt = chat.app.state.conversation.last
        assert prompt is not None
        chat.app.state.conversation.tree[prompt.id] = replace(prompt, text="fail")
        before = chat.answers[-1].text
        await chat.noticed("ValueError at", by="/continue")
        assert chat.answers[-1].text == before
        await chat.type("/max-tokens 4")
        assert "cut at the length limit" in (await chat.ask("full")).stats
        for limit, tokens, why in ((4, 8, "cut at the length limit"), (100, 14, "cut: the context is full")):
            await chat.type(f"/max-tokens {limit}")
            await chat.until(lambda count=f"{tokens} tokens": count in chat.answers[-1].stats, by="/continue")
            assert why in chat.answers[-1].stats


async def test_esc_stops_with_the_texts_numbers_a_continuation_has_the_wholes(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.type("slow")
        await chat.until(lambda: bool(chat.app.state.running and len(chat.app.state.running.log.rounds) > 3))
        running = chat.app.state.running
        assert running is not None
        running.stopping = True  # the engine is told later
        text, taken = running.log.text, len(running.log.rounds)
        await chat.pilot.pause(0.1)
        chat.app.chat.action_stop()
        await chat.settled()
        first = chat.app.state.conversation.last_answer
        assert first is not None and first.facts is not None and first.facts.stats is not None
        assert first.text == text and first.facts.stats.tokens == 2 * taken > 6
        assert (first.facts.finish, len(first.facts.rounds)) == ("cancelled", taken)
        assert first.facts.stats.rounds == first.facts.stats.draft_n == taken
        await chat.shows(f"context {10 + 2 * taken}/")
        await chat.type("/max-tokens 60")
        await chat.type("/continue")
        await chat.until(lambda: any("length limit" in answer.stats for answer in chat.answers))
        whole = chat.app.state.conversation.last_answer
        assert whole is not None and whole.facts is not None and whole.facts.stats is not None
        assert whole.facts.stats.tokens == first.facts.stats.tokens + 60
        assert chat.answers[0].stats.startswith(f"{first.facts.stats.tokens + 60} tokens")
        assert whole.facts.rounds[: len(first.facts.rounds)] == first.facts.rounds
        assert whole.facts.rounds[-1].end == len(whole.text) and whole.facts.covers_all
        (log,) = chat.app.state.logs.values()
        assert log.tokens == whole.facts.stats.tokens and log.text == whole.text
        line = chat.answers[0].stats
    async with open_chat() as chat:
        await chat.until(lambda: [answer.stats for answer in chat.answers] == [line], by="/resume last")
        assert [(log.tokens, len(log.rounds)) for log in chat.app.state.logs.values()] == [
            (whole.facts.stats.tokens, len(whole.facts.rounds))
        ]


async def test_of_an_answer_without_numbers_the_context_is_guessed_and_a_continuation_says_so(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    begun = replace(answer("a1", "p1", "Begun. "), facts=AnswerFacts("scripted", AnswerOptions(), None))
    asked = replace(prompt("p1", "hello"), attachments=(Attachment("notes", "n" * 400),))
    put(tmp_path, (chat_record("c1", "T", leaf="a1"), [asked, begun]))
    async with open_chat() as chat:
        await chat.shows("context 0")
        await chat.shows("context ~103/4096 (3%)", by="/resume last")
        unfinished = "not finished · /continue goes on while it is last"
        await chat.until(lambda: any(unfinished in answer.stats for answer in chat.answers))
        await chat.type("/continue")
        await chat.until(lambda: any("of the continuation only" in answer.stats for answer in chat.answers))
        assert chat.answers[0].text == f"Begun. {TEXT}" and chat.answers[0].stats.startswith("6 tokens")
        await chat.shows("context 16/4096")


async def test_what_a_pair_with_a_smaller_context_did_not_read_is_in_the_estimate_for_another_pair(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    said = answer("a2", "p2")  # by another pair, which read 12 tokens
    assert said.facts is not None
    said = replace(said, facts=replace(said.facts, stats=replace(STATS, prompt_tokens=12)))
    old = prompt("p1", "x" * 4000), replace(answer("a1", "p1"), facts=None)
    put(tmp_path, (chat_record("c1", "T", leaf="a2"), [*old, prompt("p2", "two", "a1"), said]))
    async with open_chat() as chat:
        await chat.shows("context ~1014/4096", by="/resume last")


async def test_a_continuation_stopped_before_it_wrote_leaves_an_answer_that_has_text_unfinished(
    open_chat: OpenChat, tmp_path: Path
) -> None:
    begun = replace(answer("a1", "p1", "Begun. "), facts=AnswerFacts("scripted", AnswerOptions(), None))
    put(tmp_path, (chat_record("c1", "T", leaf="a1"), [prompt("p1", "read"), begun]))
    async with open_chat() as chat:
        await chat.until(lambda: bool(chat.answers), by="/resume last")
        await chat.shows("reading", by="/continue")
        await chat.settled(by="escape")
        assert chat.answers[0].stats == "not finished · /continue goes on while it is last"


async def test_an_answer_taller_than_the_screen_is_followed_when_it_is_continued_by_its_key(
    open_chat: OpenChat,
) -> None:
    """Tab shows its first line, as all of it cannot be seen; what is written now stands at its end."""
    async with open_chat(size=(40, 12), options=AnswerOptions(max_tokens=60)) as chat:
        await chat.ask("slow")
        await chat.settled()
        await chat.until(lambda: not chat.app.chat.transcript.is_vertical_scroll_end, by="tab")
        await chat.settled(by="c")
        await chat.until(lambda: chat.app.chat.transcript.is_vertical_scroll_end)
