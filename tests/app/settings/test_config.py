"""config.toml: the values in use, the messages on mistakes, and that the command line wins."""

from pathlib import Path
from typing import Any

import pytest

from app.chat.settings import Settings
from app.cli import main
from app.commands import chat, loading
from app.settings.config import SCHEMA, read_config
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from app.tui.keys.keymap import default_keys
from app.tui.run import checked
from models.pairs.pair import PairSpec
from models.paths import config_file
from tests.app.run_command import Cli


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    return (tmp_path / "config.toml").write_text


def test_the_file_lies_where_xdg_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLX_SPEC_HOME")
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "xdg"))
    assert config_file() == tmp_path / "xdg" / "mlx-spec" / "config.toml"


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("pare = 'x'", "pare", "Did you mean pair?"),
        ("temperature = 1", "temperature", "Did you mean sampling.temperature?"),
        ("seed = 1", "seed", "Did you mean sampling.seed?"),
        ("drafter = 'lookup'", "drafter", "Did you mean drafting.drafter?"),
        ("[samplings]\ntop-p = 1", "samplings.top-p", "Did you mean sampling.top-p?"),
        ("pair = 'smollm2-1.7'", "pair", "(smollm2-1.7b?)"),
        ("theme = 'nordd'", "theme", 'is "nordd"; there is no such name (nord?)'),
        ("theme = 3", "theme", "a text in quotes"),
        ("theme = ''", "theme", "a text in quotes, not empty"),
        ("theme = true", "theme", "theme is true; it must be a text in quotes"),
        ("marks = 1", "marks", "true or false"),
        ("sampling.temperature = 'hot'", "sampling.temperature", "a number"),
        ("sampling.temperature = nan", "sampling.temperature", "0 (no sampling) or between 0.0001 and 10"),
        ("sampling.top-k = true", "sampling.top-k", "is true; it must be a whole number"),
        ("sampling.max-tokens = 0", "sampling.max-tokens", "at least 1"),
        ("drafting.length = 99", "drafting.length", "between 0 and 31"),
        ("drafting.drafter = 'modle'", "drafting.drafter", "lookahead or grounded (model?)"),
        ("drafting.documents = '/'", "drafting.documents", "a list of texts in quotes"),
        ("drafting.documents = [3]", "drafting.documents", "a text in quotes"),
        ("drafting.documents = ['/no/such']", "drafting.documents", "a text file. Its default is used."),
        ("keys.chat.comprae = 'f6'", "keys.chat.comprae", "Did you mean keys.chat.compare?"),
        ("keys.chat.compare = 'ctrl-x'", "keys.chat.compare", "is no key"),
        ("keys.chat.compare = 'x'", "keys.chat.compare", "typed into the prompt"),
        ("keys.app.help = 'question_mark'", "keys.app.help", "typed into the prompt"),
        ("keys.chat.compare = 'space'", "keys.chat.compare", "typed into the prompt"),
        ("keys.pairs.hub = '/'", "keys.pairs.hub", "/ is pairs.filter's"),
        ("keys.chat.stop = 'ctrl+x'", "keys.chat.stop", "edits the text of the prompt"),
        ("keys.chat.compare = 'f4'", "keys.chat.compare", "F4 is chat.draft's"),
        ("keys.chat.compare = 'f12'\nkeys.chat.draft = 'f12'", "keys.chat.compare", "F12 is chat.draft's"),
        ("keys.app.help = ['f1']", "keys.app.help", "a text in quotes"),
    ],
)
def test_a_mistake_names_file_and_key_and_what_was_meant_and_the_default_holds(
    write: Any, tmp_path: Path, text: str, name: str, message: str
) -> None:
    write(text)
    config = checked(read_config())
    (problem,) = config.problems
    assert str(tmp_path / "config.toml") in problem and f" {name}" in problem and message in problem
    assert name not in config.values and name.removeprefix("keys.") not in config.keys
    if name in SCHEMA:
        assert config[name] == SCHEMA[name].default


def test_a_folder_of_documents_that_is_missing_leaves_the_others_in_use(write: Any, tmp_path: Path) -> None:
    notes, gone = tmp_path / "notes.md", tmp_path / "gone"
    notes.touch()
    write(f"drafting.documents = ['{gone}', 'chats', '{notes}', '{gone}2']")
    config = read_config()
    assert config["drafting.documents"] == ["chats", str(notes.resolve())]
    (problem,) = config.problems
    assert f"no documents {gone}." in problem and f"no documents {gone}2." in problem
    assert problem.endswith("The rest of it is used.")


@pytest.mark.parametrize("text", ["theme = \n", f"theme = {'[' * 20_000}", f"{'a.' * 2_000}b = 1"], ids=len)
def test_a_file_that_cannot_be_read_leaves_the_defaults(write: Any, text: str) -> None:
    write(text)
    config = read_config()
    assert "cannot be read" in config.problems[0] and config["marks"] is False


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("chat.compare = 'f4'\nchat.draft = 'F5, ctrl+t'", {"chat.compare": "f4", "chat.draft": "f5,ctrl+t"}),
        ("app.quit = 'ctrl+w'\nprompt.editor = 'ctrl+e'", {"app.quit": "ctrl+w", "prompt.editor": "ctrl+e"}),
        ("\n".join(f"{name} = '{keys}'" for name, keys in default_keys().items()), default_keys()),
    ],
    ids=["exchanged", "before the prompt's own editing", "the defaults"],
)
def test_keys_may_be_set(write: Any, text: str, keys: dict[str, str]) -> None:
    write(f"[keys]\n{text}")
    config = checked(read_config())
    assert config.problems == () and config.keys == keys


def opened_chats(monkeypatch: pytest.MonkeyPatch) -> list[tuple[PairSpec, AnswerOptions]]:
    """The pairs and options with which full screens will be opened."""
    opened: list[tuple[PairSpec, AnswerOptions]] = []

    def note(spec: PairSpec, settings: Settings, *_: object, **__: object) -> None:
        opened.append((spec, settings.of_new_chat().for_answer()))

    monkeypatch.setattr(chat, "has_screen", lambda: True)
    monkeypatch.setattr("app.tui.run.run_chat", note)
    return opened


def test_the_command_line_wins_over_the_file(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_chats(monkeypatch)
    (tmp_path / "notes").mkdir()
    documents = f"drafting.documents = ['{tmp_path}', '{tmp_path / 'notes'}']"
    write(
        f"pair = 'qwen3-8b'\nsampling.temperature = 0.5\nsampling.seed = 7\ndrafting.length = 5\n{documents}"
    )
    assert main([]) == 0
    assert main(["chat", "builtin", "--temperature", "0.9", "--documents", str(tmp_path / "notes")]) == 0
    assert main(["chat", "--no-draft", "--target=org/one", "--draft", "none"]) == 0
    assert [spec.name for spec, _ in opened] == ["qwen3-8b", "builtin", "one"]
    both, notes = (str(tmp_path), str(tmp_path / "notes")), (str(tmp_path / "notes"),)
    assert [spec.documents for spec, _ in opened] == [both, notes, both]
    assert [options.temperature for _, options in opened] == [0.5, 0.9, 0.5]
    assert [options.draft_length for _, options in opened] == [5, 5, None]
    assert {options.seed for _, options in opened} == {7}, "a seed that is set is kept"
    assert opened[2][1].drafter == "none"


@pytest.mark.parametrize("command", ["bench", "check", "tune"])
def test_measurements_take_the_pair_of_the_file_and_nothing_else_and_name_its_mistakes(
    command: str, write: Any, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    loaded: list[str] = []

    def load(spec: PairSpec) -> None:
        loaded.append(spec.name)
        raise BadInput("enough")

    monkeypatch.setattr(loading, "load", lambda spec, show: load(spec))
    write("pair = 'qwen3-8b'\nmarks = 3\n[sampling]\nmax-tokens = 1\ntemperature = 0.7")
    for words in ([], ["builtin"]):
        err = run(command, *words, code=2).err
        assert "marks is 3; it must be true or false." in err and err.endswith("enough\n")
    assert loaded == ["qwen3-8b", "builtin"]


def test_a_server_has_its_own_pair_whatever_the_file_says(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setattr(chat, "has_screen", lambda: True)
    write(f"pair = 'qwen3-8b'\ndrafting.documents = ['{tmp_path}']")
    for words, error in (([], "No server answers at"), (["builtin"], "has its own pair")):
        assert error in run("chat", *words, "--server", "http://127.0.0.1:1", code=2).err


def test_drafters_of_the_file_and_of_flags_that_are_repeated_become_one_text(
    write: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = opened_chats(monkeypatch)
    write("drafting.drafter = 'eagle,lookup+eagle'")
    assert main([]) == 0
    assert main(["chat", "builtin"]) == 0
    assert main(["chat", "builtin", "--drafter", "model+lookup", "--drafter=medusa,model"]) == 0
    assert main(["chat", "builtin", "--no-draft"]) == 0
    drafters = [options.drafter for _, options in opened]
    assert drafters == ["eagle+lookup", "eagle+lookup", "model+lookup+medusa", "none"]


def test_config_prints_a_whole_file_and_tells_mistakes_beside_it(
    write: Any, tmp_path: Path, run: Cli
) -> None:
    (folder := tmp_path / "📁 π").mkdir()
    texts = "drafting.documents = ['chats']"
    write(f"theme = 'nord'\ntheem = 1\nexports = '{folder}'\nkeys.chat.compare = 'f11'\n{texts}")
    out, err = run("config")
    assert 'theme = "nord"' in out and "Did you mean theme?" in err and "theem" not in out
    write(out)
    again = checked(read_config())
    assert again.problems == () and again.keys == {"chat.compare": "f11"}
    assert again["exports"] == str(folder) and again["drafting.documents"] == ["chats"]

    facts = run.json("config")
    assert facts["values"]["theme"] == "nord" and facts["keys"]["chat.compare"] == "f11"
    assert facts["values"].keys() == SCHEMA.keys() and facts["values"]["sampling.seed"] is None

    assert run("config path").out.strip() == str(tmp_path / "config.toml")


def test_config_shows_the_pair_that_opens(write: Any, run: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    assert '# pair = "builtin"' in run("config").out
    monkeypatch.setattr("models.pairs.installed.installed", lambda spec: True)
    assert '# pair = "smollm2-135m"' in run("config").out
    assert run.json("config")["values"]["pair"] == "smollm2-135m"
    write("pair = 'builtin'")
    assert '\npair = "builtin"' in run("config").out


def test_exports_go_to_the_folder_that_is_set_or_the_one_of_downloads_or_documents(
    write: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = [tmp_path / "Downloads", tmp_path / "Documents"]
    for name, folder in zip(("user_downloads_path", "user_documents_path"), usual, strict=True):
        monkeypatch.setattr(f"app.settings.config.{name}", lambda folder=folder: folder)
    assert read_config().export_folder == Path.cwd(), "neither is there"
    usual[1].mkdir()
    assert read_config().export_folder == usual[1]
    usual[0].mkdir()
    assert read_config().export_folder == usual[0]
    write(f"exports = '{usual[1]}'")
    assert read_config().export_folder == usual[1]
    for absent in ("/absent", f"/{'x' * 5000}"):
        write(f"exports = '{absent}'")
        config = read_config()
        assert config.export_folder == usual[0] and "there is no such folder" in config.problems[0]


def test_exports_go_home_if_the_current_folder_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("user_downloads_path", "user_documents_path"):
        monkeypatch.setattr(f"app.settings.config.{name}", lambda: tmp_path / "none")
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    assert read_config().export_folder == Path.home()
