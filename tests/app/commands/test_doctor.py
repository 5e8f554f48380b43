"""`mlx-spec doctor`: what it finds wrong, how to fix it, and what it never prints."""

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from app.cli import main
from models.pairs.pair import PairSpec
from models.paths import config_file

Found = Callable[[], dict[str, dict[str, Any]]]


@pytest.fixture
def found(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> Found:
    """The doctor's findings by name; no server answers at the Hub's address."""
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")

    def run() -> dict[str, dict[str, Any]]:
        code = main(["doctor", "--json"])
        report = json.loads(capfd.readouterr().out)
        assert code == (0 if report["ok"] else 1)
        findings = {finding["name"]: finding for finding in report["findings"]}
        bad = [finding for finding in findings.values() if finding["state"] == "bad"]
        assert bool(bad) is not report["ok"] and all(finding["fix"] for finding in bad)
        return findings

    return run


def test_a_look_that_fails_is_a_bad_finding_and_hides_no_other(
    found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails_for_others(spec: PairSpec) -> bool:
        if spec.name != "builtin":
            raise RuntimeError("unforeseen")
        return True

    monkeypatch.setattr("models.pairs.installed.installed", fails_for_others)
    findings = found()
    assert {"python", "mlx", "device", "memory", "BLAS", "Hub token", "Hub", "terminal"} <= findings.keys()
    assert findings["built-in pair"]["state"] == "good"
    assert findings["pairs"]["state"] == "bad"


@pytest.mark.parametrize("address", ["https://[::1", "http://127.0.0.1:99999", "notaurl"])
def test_a_malformed_address_of_the_hub_is_named(
    found: Found, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", address)
    hub = found()["Hub"]
    assert hub["value"] == f"HF_ENDPOINT is '{address}', which is not a web address"
    assert "Unset HF_ENDPOINT" in hub["fix"]


def test_mistakes_of_config_toml_are_named(found: Found) -> None:
    assert "config.toml" not in found()
    config_file().parent.mkdir(exist_ok=True)
    config_file().write_text("marks = 3")
    assert "marks is 3; it must be true or false" in found()["config.toml"]["value"]


def test_a_file_in_the_place_of_our_folder_is_named(
    found: Found, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder")
    for home in (tmp_path / "file", tmp_path / "file" / "below"):
        monkeypatch.setenv("MLX_SPEC_HOME", str(home))
        assert found()["data folder"]["fix"].startswith(f"Not a folder: {tmp_path / 'file'}.")


@pytest.mark.parametrize(
    ("status", "value", "fix"), [(404, "answers", ""), (503, "answers with 503", "Try again later.")]
)
def test_a_hub_that_answers_is_good_unless_it_is_out_of_order(
    status: int, value: str, fix: str, found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    answer = SimpleNamespace(head=lambda *_, **__: SimpleNamespace(status_code=status))
    monkeypatch.setattr("huggingface_hub.utils.get_session", lambda: answer)
    hub = found()["Hub"]
    assert (hub["value"], hub["fix"]) == (f"http://127.0.0.1:9 {value}", fix)


def test_a_full_disk_of_our_folder_is_named(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    assert found()["data folder"]["state"] == "good"
    monkeypatch.setattr("app.commands.doctor.free_disk", lambda folder: 4_000_000)
    folder = found()["data folder"]
    assert folder["state"] == "bad" and "MLX_SPEC_HOME" in folder["fix"]


def test_a_token_that_cannot_be_read_is_named(found: Found, monkeypatch: pytest.MonkeyPatch) -> None:
    def fails() -> str:
        raise PermissionError(13, "Permission denied", "/hf/token")

    monkeypatch.setattr("huggingface_hub.get_token", fails)
    findings = found()
    assert findings["Hub token"]["value"] == "/hf/token cannot be read (Permission denied)"
    assert "HF_HOME" in findings["Hub token"]["fix"] and "Hub" in findings


def test_neither_the_token_nor_a_password_is_printed(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    monkeypatch.setenv("HF_ENDPOINT", "http://me:secret@127.0.0.1:9")
    main(["doctor"])
    out, err = capfd.readouterr()
    assert "secret" not in out + err and "http://***@127.0.0.1:9" in out
    assert "\n                            Pulling pairs needs it;" in out, "how to fix it is below"


def test_a_terminal_that_only_prints_lines_is_good_to_know_and_nothing_wrong(
    found: Found, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    monkeypatch.setenv("TERM", "dumb")
    terminal = found()["terminal"]
    assert terminal["state"] == "note" and "reads and prints lines" in terminal["fix"]
