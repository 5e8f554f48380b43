"""One entry per option: the flag, the key of config.toml and the slash command follow from it."""

from dataclasses import fields
from pathlib import Path

import pytest

from app.chat.settings import FIELDS, Settings, change
from app.settings.config import SCHEMA, read_config
from app.settings.options import OPTION_SETTINGS, AnswerOptions, OptionSetting
from app.shell.errors import BadInput
from tests.app.run_command import Cli

GOOD = {("temperature", "2.5"), ("repetition_penalty", "2.5")}
NOT_SET_BY_A_PERSON = {"stop_tokens", "repetition_context"}


def test_every_option_has_a_flag_a_key_and_a_command() -> None:
    assert {s.field for s in OPTION_SETTINGS} == {f.name for f in fields(AnswerOptions)} - NOT_SET_BY_A_PERSON
    assert list(FIELDS.values()) == list(OPTION_SETTINGS)
    assert {setting.key for setting in OPTION_SETTINGS} < SCHEMA.keys()


@pytest.mark.parametrize(
    ("setting", "value"),
    [(setting, value) for setting in OPTION_SETTINGS for value in ("2.5", "-1", "some")
     if (setting.field, value) not in GOOD],
    ids=lambda part: part if isinstance(part, str) else part.field,
)  # fmt: skip
def test_a_value_that_an_option_cannot_have_is_refused_alike_wherever_it_is_set(
    setting: OptionSetting, value: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    monkeypatch.setenv("MLX_SPEC_HOME", str(tmp_path))
    written = value if value != "some" else "'some'"
    (tmp_path / "config.toml").write_text(f"{setting.key} = {written}")
    (problem,) = read_config().problems
    wanted = problem.partition("; it must be ")[2].partition(". Its default")[0]
    flag = f"--{setting.field.replace('_', '-')}"
    message = f"{flag} is {value}; it must be {wanted}."
    assert wanted and message in run("generate --prompt x", flag, value, code=2).err
    with pytest.raises(BadInput) as refused:
        change(Settings(AnswerOptions()), setting.command, value)
    assert f"/{setting.command} is {value}; it must be {wanted}." in str(refused.value)
