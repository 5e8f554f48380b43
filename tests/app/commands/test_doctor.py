"""`mlx-spec doctor`: what it finds wrong, how to fix it, and what it never prints."""

import json
from pathlib import Path

import pytest

from app.cli import main
from models.pairs.pair import PairSpec


def test_doctor_tells_how_to_fix_what_is_wrong(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    code = main(["doctor", "--json"])
    report = json.loads(capfd.readouterr().out)
    assert code == (0 if report["ok"] else 1)
    names = {finding["name"] for finding in report["findings"]}
    assert {"python", "mlx", "device", "memory", "BLAS", "Hub token", "Hub", "terminal"} <= names
    assert all(finding["fix"] for finding in report["findings"] if finding["state"] == "bad")


def test_doctor_does_not_blame_the_builtin_pair_for_another(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def fails_for_others(spec: PairSpec) -> bool:
        if spec.name != "builtin":
            raise RuntimeError("unforeseen")
        return True

    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setattr("models.pairs.installed.installed", fails_for_others)
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
    assert "Unset HF_ENDPOINT" in findings["Hub"]["fix"]


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
        assert own["state"] == "bad" and own["fix"].startswith(f"Not a folder: {tmp_path / 'file'}.")


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
    assert "HF_HOME" in findings["Hub token"]["fix"] and "Hub" in findings


def test_doctor_never_prints_the_token(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    main(["doctor"])
    told = capfd.readouterr()
    assert "hf_secret" not in told.out + told.err
    assert "set" in told.out
