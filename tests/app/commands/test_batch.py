"""`mlx-spec batch`: every request of a file answered once, whatever happens on the way."""

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.cli import main
from app.engine import process
from app.engine.client import EngineClient
from app.server.batch import Outcome
from app.server.batch_file import open_answers
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair, count_as_measured
from tests.app.tui import engine_thread

SCRIPTED = (sys.executable, "-m", "tests.app.scripted_engine")
SAID = ["hello", "hi there " * 20, "what", "hello again", "and so on"]


def request(number: int, said: str, **more: Any) -> dict[str, Any]:
    body = {"messages": [{"role": "user", "content": said}], "seed": number, **more}
    return {"custom_id": f"r{number}", "method": "POST", "url": "/v1/chat/completions", "body": body}


def write(file: Path, requests: Sequence[dict[str, Any]]) -> str:
    file.write_text("".join(json.dumps(each) + "\n" for each in requests))
    return str(file)


def answers(file: Path) -> dict[str, dict[str, Any]]:
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    found = {line["custom_id"]: line["response"] for line in lines}
    assert len(found) == len(lines), "a request was answered twice"
    return found


@pytest.fixture
def threaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """The scripted engine on a thread: it answers with the seed of the request."""
    monkeypatch.setattr("app.server.service.EngineClient", engine_thread.ThreadedClient)


@pytest.mark.usefixtures("threaded")
def test_a_file_is_answered_as_generate_answers(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(engine_thread, "ThreadedSession", process.open_pair)
    asked = [
        request(n, said, max_tokens=12, temperature=0.8 * (n % 2), stream=n == 1)  # whole all the same
        for n, said in enumerate(SAID)
    ]
    refused = request(9, "hi", temperature=-1)
    given, out = write(tmp_path / "in.jsonl", [*asked, refused]), tmp_path / "out.jsonl"
    Path(given).write_text(Path(given).read_text(), "utf-8-sig")  # as Windows' editors do
    count_as_measured(tiny_pair)
    said = run("batch", given, out, *tiny_pair.arguments, "--at-once", 4).err
    found = answers(out)
    assert re.search(r"6 of 6 requests, 1 refused, \d*[1-9]\d*\.\d tokens/s", said)
    assert f"{out} says why." in said
    assert found["r9"]["status_code"] == 400 and "temperature" in found["r9"]["body"]["error"]["message"]
    for number in (0, 1):
        options = ["--seed", number, "--temperature", 0.8 * number, "--max-tokens", 12]
        text = run.json("generate", *tiny_pair.arguments, "--prompt", SAID[number], *options)["text"]
        assert found[f"r{number}"]["body"]["choices"][0]["message"]["content"] == text


def test_progress_has_a_speed_once_a_request_is_done_and_the_time_left_once_one_is_answered(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("app.server.batch.time", SimpleNamespace(monotonic=lambda: 30.0))
    begun = Outcome(4, begun=15.0)
    assert begun.text == "0 of 4 requests"
    assert replace(begun, done=1, tokens=30).text == "1 of 4 requests, 2.0 tokens/s, about 45 s left"
    assert replace(begun, done=1, refused=1).text == "1 of 4 requests, 1 refused, 0.0 tokens/s"
    assert replace(begun, done=2, refused=1).text.endswith("about 30 s left"), "refusals take no time"
    assert replace(begun, done=4, refused=4).text == "4 of 4 requests, 4 refused, 0.0 tokens/s"
    many = replace(begun, total=2000, done=2000, refused=1999, tokens=30)
    assert many.text == "2,000 of 2,000 requests, 1,999 refused, 2.0 tokens/s"


@pytest.mark.usefixtures("threaded")
def test_only_what_is_missing_or_was_refused_is_asked_again(tmp_path: Path, run: Cli) -> None:
    asked = [*(request(n, f"echo {said}") for n, said in enumerate(SAID)), request(9, "hi", temperature=-1)]
    given, out, link = write(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl", tmp_path / "link"
    link.symlink_to(out)
    command = ["batch", given, str(link), "--at-once", "4"]
    run(*command)
    found = answers(out)
    lines = out.read_bytes().splitlines(keepends=True)
    first, second, *_ = (line for line in lines if b'"status_code": 200' in line)
    out.write_bytes(first + second + b'{"id": "batch_req_')
    out.chmod(0o640)
    assert "Already answered: 2 of 6 requests." in run(*command).err
    assert link.is_symlink() and out.stat().st_mode & 0o777 == 0o640
    again = answers(out)
    assert out.read_bytes().startswith(first + second)
    texts = [{key: each["body"].get("choices") for key, each in f.items()} for f in (found, again)]
    assert texts[0] == texts[1] and "seed 4" in str(texts[1]["r4"])
    write(Path(given), [*asked[:-1], request(9, "hi")])
    assert "Already answered: 5 of 6 requests." in run(*command).err
    assert answers(out)["r9"]["status_code"] == 200 and answers(out).keys() == again.keys()
    assert run(*command).err == "Already answered: 6 of 6 requests.\n"


@pytest.mark.usefixtures("threaded")
def test_a_stop_counts_the_answers_to_this_file_only(tmp_path: Path, run: Cli) -> None:
    out = tmp_path / "out.jsonl"
    lines = [{"custom_id": f"r{n}", "response": {"status_code": 200}} for n in (1, 7, 8)]
    lines.append({"custom_id": "r2", "response": None})  # as OpenAI writes a request that failed
    out.write_text("".join(json.dumps(line) + "\n" for line in lines))
    asked = [request(2, "hello"), request(3, "slow"), request(4, "slow")]
    given = write(tmp_path / "in.jsonl", asked)

    def stop() -> None:
        while b'"r2", "response": {"status_code": 200' not in out.read_bytes():
            time.sleep(0.01)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=stop, daemon=True).start()
    err = run("batch", given, out, "--at-once", 2, code=130).err
    assert "Stopped at 1 of 3 requests." in err and "Already answered" not in err
    assert set(answers(out)) == {"r1", "r2", "r7", "r8"}


@pytest.mark.usefixtures("threaded")
def test_a_kill_loses_no_line_and_doubles_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With its engine on a thread, the crash is one of the whole program."""
    program = (
        "import sys; from app.cli import main; from app.server import service;"
        "from tests.app.tui import engine_thread as threads;"
        "service.EngineClient, threads.ThreadedSession = threads.ThreadedClient, threads.ScriptedSession;"
        "sys.exit(main(sys.argv[1:]))"
    )
    asked = [request(n, "crash at 12") for n in range(20)]
    given, out = write(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl"
    command = ["batch", given, str(out)]
    assert subprocess.run([sys.executable, "-c", program, *command]).returncode == -signal.SIGKILL
    kept = out.read_bytes()
    assert 0 < kept.count(b"\n") < len(asked)
    monkeypatch.setattr(engine_thread.ThreadedSession, "crash", lambda session: None)
    assert main(command) == 0
    assert len(answers(out)) == len(asked)
    assert out.read_bytes().startswith(kept[: kept.rfind(b"\n") + 1])


def test_a_request_that_the_engine_dies_of_is_named_and_may_be_asked_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("app.server.service.EngineClient", partial(EngineClient, command=SCRIPTED))
    given = write(tmp_path / "in.jsonl", [request(1, "hello"), request(2, "crash"), request(3, "hello")])
    out = tmp_path / "out.jsonl"
    said = run("batch", given, out, "--at-once", 1, code=1).err
    assert "r2: The engine process was ended by SIGKILL" in said
    assert "1 request failed" in said and set(answers(out)) == {"r1", "r3"}


@pytest.mark.usefixtures("threaded")
def test_a_number_that_is_none_is_refused_in_its_own_request_only(tmp_path: Path) -> None:
    numbers = {"temperature": float("nan"), "top_p": float("inf"), "unknown": float("nan")}
    asked = [request(n, "hello", **{name: value}) for n, (name, value) in enumerate(numbers.items())]
    given, out = write(tmp_path / "in.jsonl", asked), tmp_path / "out.jsonl"
    Path(given).write_text(Path(given).read_text().replace("Infinity", "1e999"))
    assert main(["batch", given, str(out)]) == 0
    codes = {name: each["status_code"] for name, each in answers(out).items()}
    assert codes == {"r0": 400, "r1": 400, "r2": 200}
    given, none = write(tmp_path / "refused.jsonl", asked[:2]), str(tmp_path / "none.jsonl")
    assert [main(["batch", given, none]) for _ in range(2)] == [1, 1], "all were refused"


@pytest.mark.usefixtures("threaded")
def test_a_request_that_the_server_fails_at_is_named_and_the_others_are_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def fail(request: object, kind: object) -> None:
        raise ValueError

    monkeypatch.setattr("app.server.responses.read_asked", fail)
    bad = request(1, "hello") | {"url": "/v1/responses"}
    given, out = write(tmp_path / "in.jsonl", [bad, request(2, "hello")]), tmp_path / "out.jsonl"
    err = run("batch", given, out, code=1).err
    assert re.search(r"r1: Something failed inside: ValueError at test_batch.py:\d+\.", err)
    assert re.search(r"^/v1/responses: ValueError at test_batch.py:\d+$", err, re.M)
    assert set(answers(out)) == {"r2"}


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("no json", "Line 2 of .* is not a batch request"),
        ('{"custom_id": "x", "method": "POST", "url": "/v1/chat/completions"}', "body: Field required"),
        (json.dumps(request(1, "x") | {"url": "/v1/embeddings"}), "Line 2 .* url: "),
        (json.dumps(request(1, "x") | {"custom_id": ""}), "Line 2 .* custom_id: .* at least 1 character"),
        (json.dumps(request(0, "x")), "Line 2 .* repeats an earlier custom_id: r0"),
    ],
)
def test_a_line_that_is_no_request_is_named_before_anything_is_asked(
    line: str, why: str, tmp_path: Path, run: Cli
) -> None:
    given = tmp_path / "in.jsonl"
    given.write_text(f"{json.dumps(request(0, 'hello'))}\n{line}\n")
    assert re.search(why, run("batch", given, tmp_path / "out.jsonl", code=2).err)
    assert not (tmp_path / "out.jsonl").exists()


def test_a_file_that_another_batch_is_writing_is_left_to_it(tmp_path: Path, run: Cli) -> None:
    given, out = write(tmp_path / "in.jsonl", [request(1, "hello")]), tmp_path / "out.jsonl"
    with open_answers(out, []) as found:
        found.add("r9", 200, {})
        assert set(answers(out)) == {"r9"}, "written at once"
        assert f"Another mlx-spec batch is writing {out}" in run("batch", given, out, code=2).err
    assert set(answers(out)) == {"r9"}


def test_a_device_that_never_ends_is_not_read_for_ever(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr("app.server.batch_file.LARGEST", 2**20)
    assert "/dev/zero is larger than 1 MB" in run("batch /dev/zero", tmp_path / "out.jsonl", code=2).err


@pytest.mark.usefixtures("threaded")
def test_requests_for_many_answers_wait_for_a_place_and_have_them_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.server.batch.AGAIN_SECONDS", 0.02)
    monkeypatch.setattr("app.server.request_queue.MOST_WAITING", 4)
    given = write(tmp_path / "in.jsonl", [request(number, "hello", n=4) for number in range(6)])
    out = tmp_path / "out.jsonl"
    assert main(["batch", given, str(out), "--at-once", "4"]) == 0
    assert [len(each["body"]["choices"]) for each in answers(out).values()] == [4] * 6


def test_a_file_of_something_else_even_that_of_the_requests_is_left_as_it_is(
    tmp_path: Path, run: Cli
) -> None:
    given, notes = write(tmp_path / "in.jsonl", [request(1, "hello")]), tmp_path / "notes.txt"
    notes.write_text("my notes\nno answers\n")
    for out in (notes, Path(given)):
        before = out.read_text()
        assert "something else" in run("batch", given, out, code=2).err and out.read_text() == before
    assert "/dev/null is no plain file" in run("batch", given, "/dev/null", code=2).err


@pytest.mark.usefixtures("threaded")
@pytest.mark.parametrize("command", ["batch {given} {out}", "serve --port 0"])
def test_a_default_drafter_that_the_pair_does_not_have_ends_the_command_and_refuses_no_request(
    command: str, tmp_path: Path, run: Cli
) -> None:
    given, out = write(tmp_path / "in.jsonl", [request(1, "hello")]), tmp_path / "out.jsonl"
    err = run(*command.format(given=given, out=out).split(), "--drafter", "eagle", code=2).err
    assert "has no drafter eagle. It has: " in err
    assert not out.exists() or not answers(out)


@pytest.mark.parametrize(
    ("requests", "out", "pair", "why"),
    [
        (1, "out.jsonl", "nopair", "no pair 'nopair'"),
        (1, "no/out.jsonl", "builtin", "OUT no/out.jsonl: there is no"),
        (0, "out.jsonl", "builtin", "holds no requests"),
        (1, "-", "builtin", "OUT is -, which does not mean stdout here. Name a file."),
    ],
)
def test_requests_a_pair_or_a_place_that_are_not_there_are_named_before_a_file_is_made(
    requests: int, out: str, pair: str, why: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    given = write(tmp_path / "in.jsonl", [request(1, "hello")] * requests)
    monkeypatch.chdir(tmp_path)
    err = run("batch", given, out, pair, code=2).err
    assert why.format(tmp_path) in err and not (tmp_path / out).exists()


def test_serve_names_a_pair_that_is_not_there_before_an_address(run: Cli) -> None:
    said = run("serve qwen3-4b --port 0", code=2)
    assert "mlx-spec pull qwen3-4b" in said.err and not said.out
