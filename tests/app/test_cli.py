"""The command line: exit codes, stdout and stderr, and errors in words."""

import io
import json
import os
import shlex
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from importlib.abc import MetaPathFinder
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest

from app import drafting_state
from app.cli import main
from app.commands import arguments as args
from mlx_spec.types import Round
from models.pair import PairSpec
from tests.app.scripted_pair import ScriptedEngine, ScriptedPair
from tests.app.tiny_pair import TinyPair

ROOT = Path(__file__).parents[2]


def start(*arguments: str, **kwargs: object) -> "subprocess.Popen[bytes]":
    command = [sys.executable, "-m", "app", *arguments]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    return subprocess.Popen(command, cwd=ROOT, **(pipes | kwargs))  # type: ignore[call-overload]


def in_a_shell(words: list[str], redirection: str) -> "subprocess.CompletedProcess[bytes]":
    line = f"{shlex.join([sys.executable, '-m', 'app', *words])} {redirection}"
    if redirection.startswith("|"):
        line += "; exit ${PIPESTATUS[0]}"
    return subprocess.run(["bash", "-c", line], cwd=ROOT, capture_output=True, timeout=120)


needs_full_device = pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")


@pytest.mark.parametrize(
    "arguments",
    [
        ["generate", "no-such-pair", "--prompt", "x"],
        ["generate", "what is this", "--prompt", "x"],
        ["generate", "--promt", "x"],
        ["generate", "--prompt", "x", "--temperature", "warm"],
        ["generate", "--prompt", "x", "--temperature", "nan"],
        ["generate", "--prompt", "x", "--top-p", "2"],
        ["generate", "--prompt", "x", "--draft-length", "99"],
        ["generate", "--prompt", "x", "--draft-length", "some"],
        ["generate", "--prompt", "x", "--max-tokens", "0"],
        ["generate", "--prompt", "x", "--seed", "-1"],
        ["generate", "--prompt", "x", "--verify", "trust"],
        ["generate", "--prompt", "x", "--no-draft", "--drafter", "lookup"],
        ["generate", "--prompt", "x", "--no-draft", "--draft-length", "2"],
        ["generate", "--prompt", "x", "--prompt-file", "y"],
        ["generate", "--prompt", "  "],
        ["generate", "--prompt", "hi \udcff"],
        ["generate", "--prompt-file", "/no/such/file"],
        ["generate", "--prompt-file", "/"],
        ["history", "import", "/no/such/file"],
        ["history", "import", "/"],
        ["history", "export", "all", "--output", "/no/such/folder/x"],
        ["history", "export", "all", "--output", "/"],
        ["generate", "builtin", "--target", "x/y", "--draft", "none", "--prompt", "x"],
        ["generate", "--target", "/no/such/folder", "--draft", "none", "--prompt", "x"],
        ["generate", "--target", "org/never-pulled-by-anybody", "--draft", "none", "--prompt", "x"],
        ["bench", "--repeats", "0"],
        ["bench", "--max-tokens", "2"],
        ["bench", "--prompts", "/no/such/file"],
        ["bench", "--plot", "picture.gif"],
        ["bench", "--plot", "/no/such/folder/picture.png"],
        ["bench", "--csv", "/no/such/folder/rows.csv"],
        ["check", "--max-tokens", "0"],
        ["chat", "no-such-pair"],
        ["pairs", "show", "no-such-pair"],
        ["pull"],
        ["pull", "no-such-pair"],
        ["remove", "no-such-pair"],
        ["remove", "builtin", "--yes"],
        ["frobnicate"],
    ],
    ids=" ".join,
)
def test_wrong_use_is_told_in_two_lines_with_exit_code_2(
    arguments: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    assert main(arguments) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert 1 <= len(told.err.splitlines()) <= 2
    assert "Traceback" not in told.err


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["generate", "--prompt", "x", "--stop", ""], "--stop is empty"),
        (
            ["generate", "--prompt", "x", "builtin", "--draft", "none", "--draft-head", "5"],
            "builtin has none",
        ),
    ],
    ids=["--stop", "--draft-head"],
)
def test_what_cannot_be_meant_is_refused_before_anything_is_loaded(
    arguments: list[str], told: str, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def load(spec: object) -> None:
        raise AssertionError("loaded")

    monkeypatch.setattr(args, "loaded_pair", load)
    assert main(arguments) == 2
    assert told in capfd.readouterr().err


@pytest.mark.parametrize("content", [b"\x7fELF\x02\xff\xfe\x80", b"text\x00text", "Grüße".encode("latin-1")])
def test_a_prompt_file_that_is_not_text_is_refused(
    tmp_path: Path, content: bytes, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompt.bin"
    file.write_bytes(content)
    assert main(["generate", "--prompt-file", str(file)]) == 2
    assert str(file) in capfd.readouterr().err


def test_control_characters_in_an_argument_are_shown_not_sent(capfd: pytest.CaptureFixture[str]) -> None:
    main(["generate", "\x1b[31mred", "--prompt", "x"])
    assert "\x1b" not in capfd.readouterr().err


def test_debug_shows_the_traceback(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "show", "no-such-pair", "--debug"]) == 2
    assert "Traceback" in capfd.readouterr().err


@pytest.mark.parametrize(
    "command",
    [
        "chat",
        "generate",
        "bench",
        "check",
        "pairs",
        "pairs show",
        "pull",
        "remove",
        "doctor",
        "report",
        "history",
        "history search",
    ],
)
def test_every_command_has_help_with_an_example(command: str, capfd: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--help"]) == 0
    told = capfd.readouterr().out
    assert "Examples:" in told
    assert f"mlx-spec {command.split()[0]}" in told.partition("Examples:")[2]


def test_help_and_pairs_load_no_model_library() -> None:
    script = (
        "import sys; from app.cli import main\n"
        "for arguments in (['--help'], ['generate', '--help'], ['pairs']): main(arguments)\n"
        "heavy = {'mlx', 'mlx_lm', 'transformers', 'textual', 'numpy'} & set(sys.modules)\n"
        "sys.exit(f'loaded: {heavy}' if heavy else 0)"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_generate_prints_the_text_alone_to_stdout(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "20"]
    assert main([*arguments, "--json"]) == 0
    text = json.loads(capfd.readouterr().out)["text"]
    assert main(arguments) == 0
    told = capfd.readouterr()
    assert told.out.encode(errors="backslashreplace") != b""
    assert len(told.out) == len(text) + 1
    assert "tokens/s" in told.err
    assert "seed" in told.err


def test_generate_as_json_holds_what_is_needed_to_repeat_it(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    arguments = ["generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "20", "--json"]
    assert main([*arguments, "--temperature", "0.9"]) == 0
    first = json.loads(capfd.readouterr().out)
    assert {"text", "token_ids", "finish_reason", "seed", "stats", "versions", "device"} <= set(first)
    wanted = {"prompt_tokens", "tokens", "tokens_per_second", "time_to_first_token", "rounds", "draft_n"}
    assert wanted | {"draft_n_accepted", "acceptance_rate", "peak_memory_bytes"} <= set(first["stats"])
    assert main([*arguments, "--temperature", "0.9", "--seed", str(first["seed"]), "--no-draft"]) == 0
    second = json.loads(capfd.readouterr().out)
    assert second["text"] == first["text"]
    assert second["token_ids"] == first["token_ids"]
    assert second["stats"]["draft_n"] == 0


def test_a_prompt_comes_from_a_file_or_from_stdin(
    tiny_pair: TinyPair, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "prompt.txt"
    file.write_text("hello\n")
    common = ["generate", *tiny_pair.arguments, "--max-tokens", "8", "--json"]
    answers: list[list[int]] = []
    for arguments in (["--prompt-file", str(file)], ["--prompt", "hello"], []):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"hello\n")))
        assert main([*common, *arguments]) == 0
        answers.append(json.loads(capfd.readouterr().out)["token_ids"])
    assert answers[0] == answers[1] == answers[2]


def test_a_prompt_longer_than_the_context_is_refused_before_anything_is_printed(
    tiny_pair: TinyPair, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "long.txt"
    file.write_text("word " * 2000)
    assert main(["generate", *tiny_pair.arguments, "--prompt-file", str(file)]) == 2
    told = capfd.readouterr()
    assert told.out == ""
    assert "4096" in told.err


def test_the_draft_models_name_without_a_draft_model_is_refused(
    tiny_pair: TinyPair, capfd: pytest.CaptureFixture[str]
) -> None:
    pair = ["--target", str(tiny_pair.target), "--draft", "none"]
    assert main(["generate", *pair, "--prompt", "x", "--drafter", "model"]) == 2
    assert "no draft model" in capfd.readouterr().err
    assert main(["generate", *pair, "--prompt", "x", "--max-tokens", "4"]) == 0


def test_ctrl_c_keeps_the_text_and_exits_with_130(tiny_pair: TinyPair) -> None:
    running = start("generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "4000", "--raw",
                    "--draft-length", "2")  # fmt: skip
    assert running.stdout is not None
    first = os.read(running.stdout.fileno(), 10)
    running.send_signal(signal.SIGINT)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 130
    assert first
    assert b"Interrupted" in err
    assert b"Traceback" not in err
    assert len((first + out).decode(errors="replace")) < 4000


def test_ctrl_c_while_the_program_is_still_being_imported_is_no_traceback(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Pressed(MetaPathFinder):
        def find_spec(self, name: str, *_: object) -> None:
            if name == "app.cli":
                signal.raise_signal(signal.SIGINT)

    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    begin = EntryPoint("mlx-spec", scripts["mlx-spec"], "console_scripts").load()
    monkeypatch.delitem(sys.modules, "app.cli")
    monkeypatch.delattr("app.cli")
    monkeypatch.setattr(sys, "meta_path", [Pressed(), *sys.meta_path])
    assert begin() == 130
    assert capfd.readouterr() == ("", "")


def test_ctrl_c_with_json_prints_the_whole_object(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    class Interrupted(ScriptedEngine):
        def generate(self, *args: Any, **kwargs: Any) -> Iterator[Round]:
            for number, played in enumerate(super().generate(*args, **kwargs)):
                if number == 2:
                    signal.raise_signal(signal.SIGINT)
                yield played

    pair = ScriptedPair(Interrupted(list(b"abcdefgh")))
    monkeypatch.setattr(args, "loaded_pair", lambda spec: pair)
    assert main(["generate", "--prompt", "x", "--json", "--draft-length", "2"]) == 130
    report = json.loads(capfd.readouterr().out)
    assert (report["finish_reason"], report["text"]) == ("cancelled", "abc")


def test_a_reader_that_leaves_is_no_error(tiny_pair: TinyPair) -> None:
    with start(
        "generate", *tiny_pair.arguments, "--prompt", "hello", "--max-tokens", "3000", "--raw", "--no-draft"
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        os.read(running.stdout.fileno(), 1)
        running.stdout.close()
        err = running.stderr.read()
    assert running.returncode == 130
    assert b"Traceback" not in err
    assert b"BrokenPipe" not in err


@pytest.mark.parametrize(
    "redirection",
    ["<&-", ">&-", "2>&-", "<&- >&- 2>&-", pytest.param("2>/dev/full", marks=needs_full_device)],
)
def test_a_closed_or_full_standard_stream_costs_no_answer(redirection: str, tiny_pair: TinyPair) -> None:
    words = ["generate", *tiny_pair.arguments, "--prompt", "hi", "--max-tokens", "4", "--draft-length", "2"]
    done = in_a_shell(words, redirection)
    assert done.returncode == 0, done.stderr
    assert bool(done.stdout) == (">&-" not in redirection.split())
    assert b"failed inside" not in done.stderr


@pytest.mark.parametrize(("redirection", "code"), [(">&-", 0), ("2>&-", 0), ("| true", 130)])
@pytest.mark.parametrize("words", [["--version"], ["pairs"], ["--help"]])
def test_words_that_nobody_reads_are_no_error(words: list[str], redirection: str, code: int) -> None:
    done = in_a_shell(words, redirection)
    assert (done.returncode, done.stderr) == (code, b"")


@needs_full_device
def test_a_full_disk_behind_stdout_is_told_once() -> None:
    done = in_a_shell(["pairs"], ">/dev/full")
    assert done.returncode == 3
    assert done.stderr.startswith(b"The system says:") and len(done.stderr.splitlines()) == 1


def test_wrong_use_keeps_its_exit_code_without_stderr() -> None:
    assert in_a_shell(["generate", "--max-tokens", "0"], "2>&-").returncode == 2


def test_without_a_command_the_chat_opens_on_the_built_in_pair(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(drafting_state, "SECONDS", 0.1)
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"Hello!\n\nHow are you?\n")))
    assert main([]) == 0
    told = capfd.readouterr()
    assert all(len(answer) > 5 for answer in told.out.split("\n\n")[:2])
    assert told.err.count("Measuring what drafting costs here, once") == 1


def test_answers_print_in_a_terminal_without_utf8(tiny_pair: TinyPair) -> None:
    environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
    running = start("generate", *tiny_pair.arguments, "--prompt", "é", "--no-draft", env=environment)
    out, err = running.communicate(timeout=60)
    assert running.returncode == 0, err
    out.decode("ascii")


def test_doctor_tells_how_to_mend_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    code = main(["doctor", "--json"])
    report = json.loads(capfd.readouterr().out)
    assert code == (0 if report["ok"] else 1)
    names = {finding["name"] for finding in report["findings"]}
    assert {"python", "mlx", "device", "memory", "BLAS", "Hub token", "Hub", "terminal"} <= names
    assert all(finding["mend"] for finding in report["findings"] if finding["state"] == "bad")


def test_doctor_does_not_blame_the_builtin_pair_for_another(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails_for_others(spec: PairSpec) -> bool:
        if spec.name != "builtin":
            raise RuntimeError("unforeseen")
        return True

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("models.installed.installed", fails_for_others)
    main(["doctor", "--json"])
    findings = {f["name"]: f for f in json.loads(capfd.readouterr().out)["findings"]}
    assert findings["built-in pair"]["state"] == "good"
    assert findings["pulled pairs"]["state"] == "bad"


@pytest.mark.parametrize("address", ["https://[::1", "http://127.0.0.1:99999", "notaurl"])
def test_doctor_says_which_address_of_the_hub_is_malformed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    assert main(["doctor", "--json"]) == 1
    findings = {f["name"]: f for f in json.loads(capfd.readouterr().out)["findings"]}
    assert findings["Hub"]["value"] == f"HF_ENDPOINT is '{address}', which is no web address"
    assert "Unset HF_ENDPOINT" in findings["Hub"]["mend"]


def test_an_answer_with_a_malformed_address_of_the_hub_is_refused_in_words() -> None:
    process = start("generate", "--prompt", "hi", env=os.environ | {"HF_ENDPOINT": "https://[::1"})
    out, told = process.communicate(timeout=60)
    assert (process.returncode, out) == (3, b"")
    assert told.decode().strip().startswith("HF_ENDPOINT is 'https://[::1', which is no web address.")


def test_doctor_never_prints_the_password_of_the_hub_s_address(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@127.0.0.1:9")
    main(["doctor"])
    told = capfd.readouterr()
    assert "secret" not in told.out + told.err and "http://***@127.0.0.1:9" in told.out


def test_doctor_says_that_the_folder_of_our_own_files_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    (tmp_path / "file").write_text("no folder")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("MLX_SPEC_HOME", str(home))
        assert main(["doctor", "--json"]) == 1
        findings = {f["name"]: f for f in json.loads(capfd.readouterr().out)["findings"]}
        own = findings["folder of own files"]
        assert own["state"] == "bad" and own["mend"].startswith(f"Not a folder: {tmp_path / 'file'}.")


def test_doctor_says_that_the_hub_s_token_cannot_be_read(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails() -> str:
        raise PermissionError(13, "Permission denied", "/hf/token")

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("huggingface_hub.get_token", fails)
    assert main(["doctor", "--json"]) == 1
    findings = {f["name"]: f for f in json.loads(capfd.readouterr().out)["findings"]}
    assert findings["Hub token"]["value"] == "/hf/token cannot be read (Permission denied)"
    assert "HF_HOME" in findings["Hub token"]["mend"] and "Hub" in findings


def test_doctor_never_prints_the_token(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    main(["doctor"])
    told = capfd.readouterr()
    assert "hf_secret" not in told.out + told.err
    assert "set" in told.out


def test_pairs_as_json_names_every_pair(capfd: pytest.CaptureFixture[str]) -> None:
    assert main(["pairs", "--json"]) == 0
    pairs = json.loads(capfd.readouterr().out)["pairs"]
    assert pairs[0]["name"] == "builtin"
    assert all({"licence", "installed", "verified", "download_bytes"} <= set(pair) for pair in pairs)
