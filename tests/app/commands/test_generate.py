"""`mlx-spec generate`: where the prompt comes from, what is printed, what is refused."""

import io
import json
import re
import signal
import sys
from dataclasses import replace
from pathlib import Path
from shutil import copytree

import pytest

from app.commands import loading
from app.shell.number_text import answer_figures
from mlx_spec.stats import summarise
from mlx_spec.text import Read
from models.pairs.catalogue import find
from models.pairs.own_pairs import add_own
from models.pairs.pair import Source
from models.paths import config_file
from tests.app.run_command import Cli
from tests.app.scripted_pair import STOP, ScriptedEngine, ScriptedPair, ScriptedRows
from tests.app.tiny_pair import TinyPair


def test_the_text_alone_goes_to_stdout_and_json_holds_what_is_needed_to_repeat_it(
    tiny_pair: TinyPair, run: Cli
) -> None:
    arguments = ["generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "8"]
    arguments += ["--temperature", "0.9"]
    first = run.json(*arguments)
    parts = {"text", "thought", "token_ids", "finish_reason", "stopped_at", "tool_calls", "seed", "stats"}
    assert {*parts, "pair", "versions", "device"} == set(first)
    wanted = {"prompt_tokens", "tokens", "tokens_per_second", "time_to_first_token", "rounds", "draft_n"}
    assert wanted | {"draft_n_accepted", "acceptance_rate", "peak_memory_bytes"} <= set(first["stats"])
    arguments += ["--seed", str(first["seed"]), "--no-draft"]
    second = run.json(*arguments)
    assert (second["text"], second["token_ids"]) == (first["text"], first["token_ids"])
    assert second["stats"]["draft_n"] == 0
    sources = str(tiny_pair.target), str(tiny_pair.draft)
    assert (second["pair"]["target"], second["pair"]["draft"]) == sources
    out, err = run(*arguments)
    assert len(out) == len(first["text"].removesuffix("\n")) + 1, "one line end, whatever the text ends with"
    assert re.match(r"\d+ tokens?, ", err) and f"seed {first['seed']}" in err


def test_an_own_pair_with_a_space_in_its_name_answers(tiny_pair: TinyPair, run: Cli) -> None:
    add_own(replace(find("builtin"), name="my own", target=Source(str(tiny_pair.target)), own=True))
    assert run("generate", "my own", "--prompt", "hello", "--max-tokens", 2, "--no-draft").out


def test_a_prompt_comes_from_a_file_or_from_stdin(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("hello\n")
    common = ["generate", *tiny_pair.arguments, "--max-tokens", "4", "--json"]
    answers: list[list[int]] = []
    for arguments in (["--prompt-file", str(file)], ["--prompt", "hello"], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hello\n")))
        answers.append(json.loads(run(*common, *arguments).out)["token_ids"])
    assert answers[0] == answers[1] == answers[2]


@pytest.mark.parametrize("content", [b"\x7fELF\x02\xff\xfe\x80", b"text\x00text", "Grüße".encode("latin-1")])
def test_a_prompt_file_that_is_not_text_is_refused(tmp_path: Path, content: bytes, run: Cli) -> None:
    file = tmp_path / "prompt.bin"
    file.write_bytes(content)
    assert str(file) in run("generate --prompt-file", file, code=2).err


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--prompt", "word " * 2000], "4096"),
        (["--prompt", "x", "--drafter", "model"], "no drafter model. It has"),
    ],
    ids=["longer than the context", "no draft model"],
)
def test_what_does_not_fit_the_pair_is_refused_before_anything_is_printed(
    arguments: list[str], why: str, tiny_pair: TinyPair, run: Cli
) -> None:
    out, err = run("generate --target", tiny_pair.target, "--draft", "none", *arguments, code=2)
    assert out == "" and why in err


@pytest.mark.parametrize(("command", "given"), [("generate", "--prompt-file"), ("complete", "--file")])
def test_a_prompt_longer_than_the_context_is_refused_before_the_machine_is_measured(
    command: str, given: str, tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    (file := tmp_path / "long.txt").write_text("word " * 2000)
    monkeypatch.setattr(loading, "measured", lambda pair: pytest.fail("it was measured"))
    monkeypatch.setattr("app.engine.drafting_state.restore", lambda pair: False)
    assert "4096" in run(command, *tiny_pair.arguments, given, file, code=2).err


def test_a_target_alone_answers_and_a_draft_that_should_fit_it_is_named(
    tiny_pair: TinyPair, tmp_path: Path, run: Cli
) -> None:
    target = copytree(tiny_pair.target, tmp_path / "Qwen3-8B-6bit")
    alone = ["generate", "--target", str(target), "--prompt", "x", "--max-tokens", "4", "--draft-length", "2"]
    hint = "Qwen3-8B-6bit runs without a draft model. --draft mlx-community/Qwen3-0.6B-4bit should fit."
    assert hint in run(*alone).err and hint not in run(*alone, "--draft", "none").err


def test_a_think_that_the_model_does_not_obey_is_named_without_a_flag_that_nobody_gave(
    tiny_pair: TinyPair, run: Cli
) -> None:
    config_file().parent.mkdir(parents=True)
    config_file().write_text('sampling.think = "off"')
    err = run("generate --prompt hello --max-tokens 1 --no-draft", *tiny_pair.arguments).err
    assert re.search(r"^think off changes nothing: .* has no switch for a thought\.$", err, re.MULTILINE)


def test_ctrl_c_with_json_prints_the_whole_object(monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    class InterruptedRows(ScriptedRows):
        def step(self) -> Read:
            read = super().step()
            if read and read[0][1].tokens == tuple(b"c"):
                signal.raise_signal(signal.SIGINT)
            return read

    class Interrupted(ScriptedEngine):
        def rows(self) -> ScriptedRows:
            return InterruptedRows(self)

    pair = ScriptedPair(Interrupted(list(b"abcdefgh")))
    monkeypatch.setattr(loading, "loaded_pair", lambda spec: pair)
    report = run.json("generate --prompt x --draft-length 2", code=130)
    assert (report["finish_reason"], report["text"]) == ("cancelled", "abc")


def test_an_answer_that_was_stopped_before_its_first_token_has_no_speed() -> None:
    assert answer_figures(summarise(())) == ["no tokens"]


def thinks(monkeypatch: pytest.MonkeyPatch, said: str = "<think>\nHm.\n</think>\n\nYes.") -> None:
    pair = ScriptedPair(ScriptedEngine([*said.encode(), STOP]))
    monkeypatch.setattr(loading, "loaded_pair", lambda spec: pair)


@pytest.mark.parametrize(
    ("arguments", "printed"),
    [([], "Yes.\n"), (["--raw"], "<think>\nHm.\n</think>\n\nYes.\n"), (["--max-tokens", "9"], "\n")],
    ids=["the answer alone", "the text as it is", "nothing yet"],
)
def test_a_pipe_gets_the_answer_without_its_thought(
    arguments: list[str], printed: str, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    thinks(monkeypatch)
    out, err = run("generate --draft-length 2 --prompt x", *arguments)
    assert out == printed and "Hm." not in err
    assert ("inside its thought. Allow a longer one: --max-tokens" in err) == (printed == "\n")


def test_json_has_the_thought_apart_and_a_terminal_shows_it_dimmed(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    thinks(monkeypatch)
    report = run.json("generate --draft-length 2 --prompt x")
    assert (report["text"], report["thought"]) == ("Yes.", "Hm.")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    out, err = run("generate --draft-length 2 --prompt x")
    err = err.replace("\x1b[22m\x1b[2m", "")
    assert out == "Yes.\n" and "\x1b[2mThought:\nHm.\n\n\x1b[22m" in err
