"""Commands that change the options."""

import pytest

from app.chat.settings import FIELDS, Settings, change, describe, setup_rows
from app.chat.slash_commands import (
    SLASH_COMMANDS,
    completions,
    drafter_completions,
    parse,
    preset_completions,
)
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from mlx_spec import BadOption
from mlx_spec.drafters import drafters_for
from tests.app.tui.chat_driver import OpenChat


def test_off_asks_for_no_drafter_and_on_for_what_was_chosen_before() -> None:
    settings = Settings.of(AnswerOptions(drafter="lookup", draft_length=5))
    off = change(settings, "draft", "off")
    assert off.for_answer().drafter == "none"
    assert change(off, "draft", "on").for_answer() == settings.options


def test_a_refused_drafter_is_not_answered_with_one_that_the_chat_refuses_too() -> None:
    with pytest.raises(BadOption) as refused:
        drafters_for(AnswerOptions(drafter="eagle"), [])
    assert "auto" in str(refused.value) and "none" not in str(refused.value)


@pytest.mark.parametrize("options", [AnswerOptions(draft_length=0), AnswerOptions(drafter="none")])
def test_a_chat_begun_without_drafting_drafts_once_it_is_switched_on(options: AnswerOptions) -> None:
    settings = Settings.of(options)
    assert settings.for_answer().drafter == "none"
    drafted = settings.switched(True).for_answer()
    assert drafted.drafter == "auto" and drafted.draft_length is None


def test_length_0_is_no_drafting_and_switching_on_forgets_it() -> None:
    settings = change(Settings(AnswerOptions()), "length", "0")
    assert not settings.drafts and settings.for_answer().drafter == "none"
    assert settings.switched(True).drafts
    assert settings.for_answer(drafting=True).draft_length is None


@pytest.mark.parametrize(
    ("name", "value", "hint"),
    [
        ("draft", "maybe", "^/draft is maybe; it must be on or off"),
        ("length", "three", "a whole number or auto"),
        ("temperature", "abc", r"^/temperature is abc; it must be a number\.$"),
        ("drafter", "none", "/draft off"),
        ("drafter", "egle", r"lookahead or grounded \(eagle\?\)"),
        ("drafter", "lookup+auto", "auto alone"),
        ("temperature", "0.00001", r"is 0.00001; it must be 0 \(no sampling\) or between 0.0001 and 10\."),
        ("seed", "-1", "between 0 and"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_with_what_can(name: str, value: str, hint: str) -> None:
    with pytest.raises(BadInput, match=hint):
        change(Settings(AnswerOptions()), name, value)


def test_every_setting_can_be_described_and_has_a_command() -> None:
    for name in FIELDS:
        assert name in describe(Settings(AnswerOptions()), name)
    assert set(FIELDS) <= {command.name for command in SLASH_COMMANDS}
    assert describe(Settings(AnswerOptions()), "temperature") == "temperature is 0", "as it is typed"


def test_a_chat_s_instructions_and_every_setting_are_told_at_once() -> None:
    options = AnswerOptions(temperature=0.7, top_p=0.9, seed=5, draft_length=3)
    rows = dict(setup_rows("Be brief.\x1b[2J", Settings(options)))
    assert rows["Instructions"] == "Be brief.␛[2J"
    sampling = "temperature 0.7, top-p 0.9, seed 5, max-tokens 512, think auto; top-k, min-p, penalty off"
    assert rows["Sampling"] == sampling
    assert rows["Drafting"] == "on, length 3, drafter auto, verify coupled"
    assert all(name in " ".join(rows.values()) for name in FIELDS)
    assert dict(setup_rows("", Settings(options, drafting=False)))["Drafting"] == "off"


def test_a_new_chat_has_a_new_seed_unless_the_person_gave_one() -> None:
    drawn = Settings.of(AnswerOptions(seed=5))
    assert len({drawn.of_new_chat().options.seed for _ in range(3)}) == 3
    for given in (Settings.of(AnswerOptions(seed=5), keeps_seed=True), change(drawn, "seed", "5")):
        assert given.switched(False).of_new_chat().options.seed == 5


def test_what_is_not_the_default_is_named_as_it_is_typed() -> None:
    defaults = Settings.of(AnswerOptions(temperature=0.3, seed=5, top_k=40))
    assert defaults.of_new_chat().differences(defaults) == []
    changed = change(change(defaults, "temperature", "1.2"), "penalty", "1.1")
    assert changed.differences(defaults) == ["temperature 1.2", "penalty 1.1"]
    assert change(defaults, "seed", "7").differences(defaults) == ["seed 7"]
    assert change(change(defaults, "length", "3"), "draft", "off").differences(defaults) == ["length 3"]


def test_commands_are_completed_by_their_beginning_and_not_inside_a_value() -> None:
    assert [command.name for command in completions("/dra")] == ["draft", "drafter"]
    assert completions("/draft o") == [] and completions("draft") == []
    assert parse("/Draft  on") == (next(c for c in SLASH_COMMANDS if c.name == "draft"), "on")


async def test_a_think_that_the_model_does_not_obey_is_named_when_its_pair_is_open(
    open_chat: OpenChat,
) -> None:
    async with open_chat(options=AnswerOptions(think="off")) as chat:
        await chat.noticed("think off changes nothing: scripted has no switch for a thought.")


async def test_so_is_a_think_that_a_preset_or_a_resumed_chat_brings_along(open_chat: OpenChat) -> None:
    async with open_chat() as chat:
        await chat.until(lambda: chat.app.state.link.info is not None)
        for command in ("/think high", "/preset save deep", "hello", "/new"):
            await chat.type(command)
        note = "think high changes nothing: scripted has no switch for a thought."
        await chat.noticed("Preset 'deep' is in use", by="/preset deep")
        assert chat.notices.count(note) == 1
        await chat.until(lambda: chat.notices.count(note) == 2, by="/resume last")


def test_drafters_are_completed_by_name_one_after_another() -> None:
    has = ("lookup", "recycling", "eagle")
    assert drafter_completions("/drafter ", has) == [f"/drafter {name}" for name in ("auto", *has)]
    assert drafter_completions("/drafter e", has) == ["/drafter eagle"]
    joined = ["/drafter eagle+lookup", "/drafter eagle+recycling"]
    assert drafter_completions("/drafter eagle+", has) == joined
    assert drafter_completions("/drafter dflash", ("dflash", "dflash2")) == [], "Enter sends it"
    for nothing in ("/drafter", "/drafter eagle", "/drafter eagle l", "/draft e", "e", "", " ", " e"):
        assert drafter_completions(nothing, has) == []


def test_presets_are_completed_by_name_to_be_used_or_deleted() -> None:
    has = ("short", "Shorter ones", "terse")
    assert preset_completions("/preset ", has) == [f"/preset {name}" for name in has]
    assert preset_completions("/preset sh", has) == ["/preset short", "/preset Shorter ones"]
    assert preset_completions("/preset shorter o", has) == ["/preset Shorter ones"]
    assert preset_completions("/preset delete t", has) == ["/preset delete terse"]
    for nothing in ("/preset", "/preset short", "/preset save t", "/presets t", "preset t", " /preset t"):
        assert preset_completions(nothing, has) == []


def test_a_value_may_begin_on_the_next_line() -> None:
    command, value = parse("/system\nBe brief.\nBe kind.")
    assert (command.name, value) == ("system", "Be brief.\nBe kind.")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [("repetition-penalty", "penalty"), ("draft-length", "length"), ("tempreature", "temperature")],
)
def test_a_flag_or_a_typing_error_as_a_command_names_the_command_that_was_meant(
    typed: str, meant: str
) -> None:
    with pytest.raises(BadInput, match=rf"no command /{typed}\. Did you mean /{meant}\?"):
        parse(f"/{typed} 1")


def test_a_command_that_takes_no_value_does_nothing_with_one() -> None:
    with pytest.raises(BadInput, match=r"Nothing was done: /delete takes no value, not 'old chat'\."):
        parse("/delete old chat ")
