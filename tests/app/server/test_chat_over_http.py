"""The chat's engine over HTTP: the same events, and a message for every failure."""

import re
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any

import pytest

from app.chat.engine_link import EngineLink, RequestEvent
from app.engine.events import TextAdded, TurnEnded
from app.engine.protocol import (
    Answered,
    AnswerFailed,
    Cancel,
    EngineEvent,
    Explain,
    Load,
    Loaded,
    LoadFailed,
    Request,
)
from app.engine.server_client import LINE, ServerClient
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from models.pairs.pair import PairSpec, Source
from tests.app.engine.exchange import answer_of, ask, ended, exchange
from tests.app.server.running_server import RunningServer
from tests.waiting import until

EARLY = "it was closed before the answer's end"


def pair(name: str) -> Load:
    return Load(PairSpec(name, Source("x"), None))


def is_text(event: EngineEvent) -> bool:
    return isinstance(event, Answered) and isinstance(event.event, TextAdded)


def sent(client: ServerClient, request: Request) -> None:
    """Send a request and wait until the client is done with it."""
    before = set(threading.enumerate())
    client.send(request)
    for thread in set(threading.enumerate()) - before:
        thread.join(10)


@contextmanager
def relayed(port: int, server: RunningServer) -> Iterator[None]:
    """The server at another port, where none answers before and after."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0))) or None
            answer = server.ask(self.path, body)
            self.send_response(answer.status)
            self.end_headers()
            self.wfile.write(answer.body)

        do_POST = do_GET

    with HTTPServer(("127.0.0.1", port), Handler) as relay:
        thread = threading.Thread(target=relay.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield
        finally:
            relay.shutdown()
            thread.join()


@pytest.fixture
def client(scripted_server: RunningServer) -> Iterator[ServerClient]:
    client = ServerClient(f"{scripted_server.url}")
    yield client
    client.close()


def test_an_answer_has_the_events_that_the_engines_process_sends(tiny_server: RunningServer) -> None:
    client = ServerClient(tiny_server.url)
    name = client.pair_name()
    (loaded,) = exchange(client, pair(name), until=bool)
    assert isinstance(loaded, Loaded) and loaded.info.name == name and "model" in loaded.info.drafters
    options = AnswerOptions(max_tokens=24, temperature=0.8, seed=3, draft_length=3)
    events = exchange(client, ask(1, "hello there", options), until=ended(1))
    last = answer_of(events, 1)
    assert last.stats.draft_n > 0 and last.seed == 3
    texts = [e.event for e in events if isinstance(e, Answered) and isinstance(e.event, TextAdded)]
    played = [played for each in texts for played in each.played]
    assert len(played) == last.stats.rounds and any(each.drafter == "model" for each in played)
    asked = {"max_tokens": 24, "temperature": 0.8, "seed": 3}
    assert last.text == tiny_server.text("hello there", **asked)
    client.close()


@pytest.mark.parametrize("line", ["3", "[]", "{}", "nonsense", '{"Answered": 1}', '{"problem": 1}'])
def test_a_line_that_is_no_event_is_refused(line: str) -> None:
    with pytest.raises(ValueError):
        LINE.validate_json(line)


def test_a_text_with_line_ends_of_other_kinds_comes_whole(
    client: ServerClient, scripted_server: RunningServer
) -> None:
    said = "echo a\u2028b\x85c"
    assert said in scripted_server.chat(said, stream=True).streamed_text
    assert said in answer_of(exchange(client, ask(1, said), until=ended(1)), 1).text


def test_a_cancel_ends_the_answer_with_its_text_whether_it_is_written_waits_or_comes_later(
    client: ServerClient, scripted_server: RunningServer
) -> None:
    options = AnswerOptions(max_tokens=10_000)
    events = exchange(client, ask(1, "slow", options), until=lambda events: any(map(is_text, events)))
    client.send(ask(2, "slow"))
    scripted_server.wait_for("num_requests_waiting", 1)
    for number in (2, 1):
        events += exchange(client, Cancel(number), until=ended(number))
    sent(client, Cancel(3))  # it overtakes a long prompt
    events += exchange(client, ask(3, "slow", options), until=ended(3))
    ends = {number: answer_of(events, number) for number in (1, 2, 3)}
    assert [end.finish_reason for end in ends.values()] == ["cancelled"] * 3
    assert ends[1].text.startswith("The target") and ends[2].text == ""


def test_a_chats_long_attachments_are_only_in_its_prompt(client: ServerClient) -> None:
    """Indexed, eight megabytes of them kept all streams waiting for nine seconds."""
    for documents, kept in ((("x" * 100_000,), 1), (("x" * 50_000, "x" * 50_001), 0)):
        asked = replace(ask(kept, "echo"), documents=documents)
        text = answer_of(exchange(client, asked, until=ended(kept)), kept).text
        assert f"|{kept} documents|" in text


@pytest.mark.parametrize(
    "fields", [{"counts": True}, {"likeliest": 10**30}], ids=lambda fields: next(iter(fields))
)
def test_what_no_chat_sets_cannot_end_the_answers_of_others(
    fields: dict[str, Any], tiny_server: RunningServer
) -> None:
    answer = {"id": 0, "prompt": "abc", "options": {"max_tokens": 4}, **fields}
    lines = tiny_server.ask("/mlx-spec/answer", {"answer": answer, "call": "1"}).body.splitlines()
    last = LINE.validate_json(lines[-1])
    assert isinstance(last, TurnEnded) and last.stats.tokens == 4


def test_failures_there_are_told_here(client: ServerClient) -> None:
    *_, failed = exchange(client, ask(1, "fail"), until=ended(1))
    assert isinstance(failed, AnswerFailed)
    assert "ValueError at scripted_engine.py" in failed.message and not failed.refused
    (failed,) = exchange(client, Explain(2, (), AnswerOptions(), (), ()), until=ended(2))
    assert isinstance(failed, AnswerFailed) and failed.refused and client.url in failed.message
    (refused,) = exchange(client, pair("another"), until=bool)
    assert isinstance(refused, LoadFailed)
    assert "serves scripted. For another here: mlx-spec chat another" in refused.message


def test_a_server_that_has_another_pair_by_now_refuses_instead_of_answering_in_its_name(
    client: ServerClient,
) -> None:
    exchange(client, pair("the one before"), until=bool)
    *_, failed = exchange(client, ask(1, "hello"), until=ended(1))
    assert isinstance(failed, AnswerFailed) and failed.refused
    assert failed.message == "The server has scripted now, not the one before. Open the chat again."


@pytest.mark.parametrize(
    "sent, why",
    [("", EARLY), ('{"prompt_tokens": 3}\n', EARLY)]
    + [(line, "a line was not mlx-spec's") for line in ("nonsense\n", "null\n", '{"pieces": [["hal')],
)
def test_an_answer_that_a_server_ends_too_early_or_with_another_text_fails_in_a_sentence(
    sent: str, why: str
) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.send_response(200)
            self.end_headers()
            self.wfile.write(sent.encode())

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        client = ServerClient(f"http://127.0.0.1:{server.server_port}")
        *_, failed = exchange(client, ask(1, "hello"), until=ended(1))
        client.close()
    assert isinstance(failed, AnswerFailed)
    assert failed.message == f"The connection to {client.url} broke: {why}."


def test_a_cancel_that_reaches_nobody_ends_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """The chat said "stopping" for a minute, where the server's process was stopped."""
    monkeypatch.setattr("app.engine.server_client.CONNECT_SECONDS", 0.2)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as hung:
        client = ServerClient(f"http://127.0.0.1:{hung.server_port}")
        *_, failed = exchange(client, ask(1, "hello"), Cancel(1), until=ended(1))
        client.close()
    why = f"No server answers at {client.url} (timed out). Start one there: mlx-spec serve."
    assert isinstance(failed, AnswerFailed) and failed.message == why


def test_a_server_that_only_ever_says_later_is_told_of(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("app.engine.server_client.QUIET_SECONDS", 5)

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(503)
            self.send_header("Retry-After", "1")
            self.end_headers()

    with HTTPServer(("127.0.0.1", 0), Handler) as server:
        threading.Thread(target=server.handle_request, daemon=True).start()
        client = ServerClient(f"http://127.0.0.1:{server.server_port}")
        with pytest.raises(BadInput, match="status 503"):
            client.pair_name()
        client.close()


def test_a_chat_that_opens_while_the_engine_is_dead_starts_it_again(
    client: ServerClient, scripted_server: RunningServer
) -> None:
    scripted_server.chat("crash")
    (loaded,) = exchange(client, pair("scripted"), until=bool)
    assert isinstance(loaded, Loaded)


def test_a_pair_is_ready_once_a_server_answers_and_only_while_it_does(
    scripted_server: RunningServer,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    client = ServerClient(f"http://127.0.0.1:{port}")
    link, ends = EngineLink(client, pair("scripted").pair), list[RequestEvent]()

    def until_link(holds: Callable[[], bool]) -> None:
        def looked() -> bool:
            link.pump()
            return holds()

        until(looked)

    def has_ended(event: RequestEvent) -> bool:
        return isinstance(event, Answered) and isinstance(event.event, TurnEnded)

    def asked_in_vain() -> bool:
        return link.state == "failed" and (not ends or isinstance(ends[-1], AnswerFailed))

    link.start()
    until_link(asked_in_vain)
    for _ in range(2):
        with relayed(port, scripted_server):
            link.send(ends.append, ask(0, "hello"))
            until_link(lambda: link.state == "ready" and bool(ends) and has_ended(ends[-1]))
        link.send(ends.append, ask(0, "hello"))
        until_link(asked_in_vain)
    link.close()


def test_a_missing_key_and_what_is_no_address_are_said(kept: RunningServer) -> None:
    without, client = ServerClient(kept.url), ServerClient(kept.url, kept.key)
    with pytest.raises(BadInput, match="key is missing or wrong.*chat reads it from MLX_SPEC_API_KEY"):
        without.pair_name()
    assert client.pair_name() == "scripted"
    without.close()
    client.close()
    for url in ("localhost:8080", "", "http://", "http://[::1", "http://localhost:port"):
        with pytest.raises(BadInput, match=re.escape(f"--server is {url or 'empty'}; it must be an address")):
            ServerClient(url)


def test_what_is_sent_as_the_chat_closes_leaves_no_traceback(
    client: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    raised: list[object] = []
    monkeypatch.setattr(threading, "excepthook", raised.append)
    client.close()
    for request in (Cancel(1), ask(2, "hello"), pair("scripted")):
        sent(client, request)
    assert not raised


def test_a_password_in_the_address_is_not_shown() -> None:
    client = ServerClient("http://me:secret@127.0.0.1:9/v1")
    with pytest.raises(BadInput, match=r"No server answers at http://\*\*\*@127\.0\.0\.1:9 ") as refused:
        client.pair_name()
    assert "secret" not in str(refused.value) + client.url
    client.close()
