"""`mlx-spec complete`: the text around the gap, what is printed, what is refused."""

import io
import json
import sys
from pathlib import Path

import pytest
from mlx_lm.utils import load_tokenizer

from app.cli import main
from app.commands import loading
from app.engine.chat_prompt import FillIn
from app.engine.fill_in import FORMATS, fill_in_ids
from models.paths import config_file
from tests.app.run_command import Cli
from tests.app.scripted_pair import ScriptedEngine, ScriptedPair
from tests.app.tiny_pair import TinyPair
from tests.models.tiny_models import SPECIAL, make_tokenizer

TEXT = "def f(x):\n    \n\nprint(f(2))\n"
FILL_IN = ["complete", "--draft-length", "2"]


@pytest.fixture
def coder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ScriptedPair:
    """A code model that fills every gap with `return x`."""
    make_tokenizer(tmp_path / "coder", special=(*SPECIAL, *FORMATS[0], "<|file_sep|>"))
    tokenizer = load_tokenizer(tmp_path / "coder")
    end = tokenizer.convert_tokens_to_ids("<|file_sep|>")
    engine = ScriptedEngine([*tokenizer.encode("return x"), end], 2)
    pair = ScriptedPair(engine, tokenizer=tokenizer)  # type: ignore[arg-type]
    monkeypatch.setattr(loading, "loaded_pair", lambda spec: pair)
    return pair


@pytest.fixture
def file(tmp_path: Path) -> Path:
    file = tmp_path / "main.py"
    file.write_text(TEXT)
    return file


def test_the_completion_alone_is_printed_and_the_model_reads_what_stands_around_the_place(
    coder: ScriptedPair, file: Path, run: Cli
) -> None:
    out, err = run(*FILL_IN, "--file", file, "--at", "2:5")
    assert out == "return x" and err == ""
    gap = FillIn("def f(x):\n    ", "\n\nprint(f(2))\n")
    assert coder.engine.prompts == [fill_in_ids(coder.tokenizer, gap)]  # type: ignore[arg-type]
    assert coder.engine.options[0].max_tokens == 64


@pytest.mark.parametrize(
    ("at", "place"), [("1:1", 0), ("1:10", 9), ("2:1", 10), ("4:12", 27), ("04:012", 27)]
)
def test_a_place_is_a_line_and_a_column_counted_from_1(
    at: str, place: int, coder: ScriptedPair, file: Path
) -> None:
    for written in (TEXT, TEXT.replace("\n", "\r\n")):
        file.write_bytes(written.encode())
        assert main([*FILL_IN, "--file", str(file), "--at", at]) == 0
        gap = FillIn(TEXT[:place], TEXT[place:])
        assert coder.engine.prompts[-1] == fill_in_ids(coder.tokenizer, gap)  # type: ignore[arg-type]


def test_open_files_are_drafted_from_and_not_read(
    coder: ScriptedPair, file: Path, tmp_path: Path, run: Cli
) -> None:
    names = [tmp_path / "a.py", tmp_path / "b.py"]
    for number, name in enumerate(names):
        name.write_text(f"x = {number}")
    given = [each for name in names for each in ("--open-file", str(name))]
    run(*FILL_IN, "--file", file, "--at", "2:5", *given)
    run(*FILL_IN, "--file", file, "--at", "2:5")
    ids = [coder.tokenizer.encode(f"x = {number}") for number in range(2)]
    assert coder.engine.documents == [ids, []]
    assert coder.engine.prompts[0] == coder.engine.prompts[1]
    err = run(*FILL_IN, "--file", file, *given, "--drafter", "model", code=2).err
    assert "--open-file is for the drafter lookup, and --drafter model" in err
    config_file().parent.mkdir(parents=True)
    config_file().write_text('drafting.drafter = "model"')
    err = run(*FILL_IN, "--file", file, *given, code=2).err
    assert 'and drafter = "model" in config.toml (--drafter auto overrides it) leaves' in err
    assert (
        "and --no-draft leaves lookup out" in run("complete --file", file, *given, "--no-draft", code=2).err
    )


def test_at_the_end_of_a_text_any_model_goes_on_as_generate_raw_does(
    tiny_pair: TinyPair, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    options = [*tiny_pair.arguments, "--draft-length", "3", "--max-tokens", "12"]
    wanted = run.json("generate", *options, "--raw", "--prompt", "def f(x):")
    for more in ([], ["--json"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"def f(x):")))
        out = run("complete", *options, *more).out
        assert (json.loads(out)["text"] if more else out) == wanted["text"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["--at", "2"], "--at is 2; it must be LINE:COLUMN"),
        (["--at", ""], "--at is empty; it must be LINE:COLUMN"),
        (["--at", "0:1"], "the text has the lines 1 to 5"),
        (["--at", "6:1"], "the text has the lines 1 to 5"),
        (["--at", "2:6"], "line 2 has the places 1 to 5"),
        (["--at", f"{'9' * 5000}:1"], "it must be LINE:COLUMN"),
        (["--open-file", "/no/such/file"], "There is no file /no/such/file."),
        (["--stop", ""], "--stop is empty"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_makes_no_sense_is_refused_before_a_model_is_loaded(
    arguments: list[str], why: str, file: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(loading, "loaded_pair", lambda spec: pytest.fail("it was loaded"))
    assert why in run(*FILL_IN, "--file", file, *arguments, code=2).err


def test_without_a_file_a_terminal_has_no_text_to_complete(monkeypatch: pytest.MonkeyPatch, run: Cli) -> None:
    monkeypatch.setattr(sys.stdin, "isatty", lambda: True)
    assert "There is no text to complete. Give --file FILE" in run("complete", code=2).err


def test_the_length_of_answers_in_the_config_is_not_that_of_completions(
    coder: ScriptedPair, file: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "config.toml").write_text("[sampling]\nmax-tokens = 900\ntemperature = 0.5\n")
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    assert main([*FILL_IN, "--file", str(file), "--at", "2:5"]) == 0
    (options,) = coder.engine.options
    assert (options.max_tokens, options.temperature) == (64, 0.5)
