"""Sweeps without a screen: the syntax, the runs, when longer lengths are added."""

from dataclasses import replace
from unittest.mock import Mock

import pytest

from app.chat.conversation import Conversation
from app.chat.engine_link import Asker
from app.compare.collector import RunCollector
from app.compare.comparison_in_progress import ComparisonInProgress
from app.compare.plan import Run, Setting
from app.compare.request import read_compare, read_sweep
from app.engine.events import TurnEnded
from app.engine.protocol import Answer, Answered
from app.settings.options import AnswerOptions
from app.shell.errors import BadInput
from tests.app.compare.scripted_runs import MODEL, PLAIN, TOKENS, record_of, stats, wanted
from tests.app.history.some_chat import chat, prompt

CHAT = Conversation(Mock(), chat(), [prompt("p", "hello")])


def test_a_sweep_that_was_stopped_judges_the_settings_that_ran() -> None:
    collector = RunCollector(wanted(*(replace(MODEL, draft_length=n) for n in (1, 2, 3)), repeats=1))
    for run in list(collector.plan.runs)[4:7]:
        collector.add(run, TOKENS, stats(0.01))
    labels = [setting.label for setting in record_of(collector).settings]
    assert labels == ["plain", "model, 1 token", "model, 2 tokens"]


def test_a_sweep_names_lengths_drafters_temperatures() -> None:
    found = read_sweep("length=0-2,auto drafter=lookup temperature=0,0.8", CHAT, AnswerOptions(seed=3))
    assert [setting.label for setting in found.settings if setting.drafts] == [
        "lookup, 1 token", "lookup, 2 tokens", "lookup, length auto", "lookup, 1 token at 0.8",
        "lookup, 2 tokens at 0.8", "lookup, length auto at 0.8",
    ]  # fmt: skip
    joined = read_sweep("length=2 drafter=auto,lookup,eagle+lookup", CHAT, AnswerOptions())
    labels = [setting.label for setting in joined.settings if setting.drafts]
    assert labels == ["auto, 2 tokens", "lookup, 2 tokens", "eagle+lookup, 2 tokens"]
    assert [question.prompt.prompt for question in read_sweep("", CHAT, AnswerOptions()).questions] == [
        "hello"
    ]
    assert len(read_sweep("prompts=all", CHAT, AnswerOptions()).questions) > 10
    assert read_compare("", CHAT, AnswerOptions(draft_length=2)).settings == (PLAIN, Setting("auto", 2, 0.0))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("lenght=3", "Give length=, drafter="),
        ("length=x", "range such as 0-8"),
        ("length=99", "length is 99; it must be between 0 and"),
        ("length=5-99", "length is 99; it must be between 0 and"),
        ("length=5-2", "'5-2' is no length"),
        (f"length=0-{'9' * 5000}", "is no length"),
        (f"length={'9' * 5000},1", "is no length"),
        (f"repeats={'9' * 5000}", "between 1 and"),
        ("drafter=none", "drafter is none; it must be auto, model, medusa, dspark, dflash2"),
        ("temperature=hot", "temperature is hot; it must be a number"),
        ("length=0", "None of these settings drafts"),
        ("repeats=0", "between 1 and"),
        ("prompts=/absent.jsonl", "no file"),
    ],
)
def test_what_cannot_be_run_is_refused_with_what_can(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_sweep(text, CHAT, AnswerOptions())


def test_a_sweep_goes_on_with_greater_lengths_while_the_greatest_is_the_fastest() -> None:
    lengths = [Setting("auto", length, 0.0) for length in (None, *range(1, 9))]
    speeds = {None: 99.0, 0: 1.0, 10: 10.0, 12: 9.0}

    def speed(place: int) -> float:
        length = plan.settings[place].draft_length
        return speeds.get(length, float(length or 0))

    plan = replace(wanted(*lengths), climbs=True)
    longer = plan.longer(speed)
    assert longer is not None and longer.settings == (*plan.settings, Setting("auto", 10, 0.0))
    assert [(run.setting, run.warm_up) for run in longer.runs_of([10])] == [(10, True)] + [(10, False)] * 3
    plan = longer
    longer = plan.longer(speed)
    assert longer is not None and longer.settings[-1].name == "auto, 12 tokens"
    plan = longer
    assert plan.longer(speed) is None, "12 was slower than 10"
    assert replace(wanted(*lengths), climbs=False).longer(lambda place: place) is None
    warm = replace(wanted(*(Setting("auto", 8, degree) for degree in (0.5, 0.8))), climbs=True)
    longer = warm.longer(float)
    assert longer is not None and [one.temperature for one in longer.settings[4:]] == [0.5, 0.8]


async def test_the_runs_of_greater_lengths_follow_and_are_judged_with_the_others() -> None:
    def send(asker: Asker, request: Answer) -> int:
        seconds = 0.1 / (1 + min(request.options.draft_length or 0, 10))
        asker(Answered(1, TurnEnded("text", TOKENS, "stop", 0, stats(seconds))))
        return 1

    link = Mock(info=None, pair=Mock(as_json=lambda: {"name": "p"}), send=send)
    plan = replace(wanted(*(Setting("model", n, 0.0) for n in (1, 8)), repeats=1), climbs=True)
    progress = ComparisonInProgress(link, plan)
    runs = [event async for event in progress.events() if isinstance(event, Run)]
    ran = [progress.plan.settings[run.setting].name for run in runs if not run.warm_up]
    assert ran == ["plain", "model, 1 token", *(f"model, {length} tokens" for length in (8, 10, 12))]
    record = progress.record()
    assert record is not None and [setting.name for setting in record.settings] == ran


@pytest.mark.parametrize("prompts", [1, 3])
async def test_stopped_at_a_greater_length_a_sweep_judges_what_was_complete_before(prompts: int) -> None:
    def send(asker: Asker, request: Answer) -> int:
        seconds = 0.1 / (1 + (request.options.draft_length or 0))
        asker(Answered(1, TurnEnded("text", TOKENS, "stop", 0, stats(seconds))))
        return 1

    link = Mock(info=None, pair=Mock(as_json=lambda: {"name": "p"}), send=send)
    plan = replace(wanted(Setting("model", 8, 0.0), prompts=prompts, repeats=2), climbs=True)
    progress = ComparisonInProgress(link, plan)
    async for event in progress.events():
        if isinstance(event, Run) and event.setting == 2 and (event.prompt or event.repeat):
            progress.break_off("stopped by you")
    record = progress.record()
    assert record is not None and (len(record.prompts), record.repeats) == (prompts, 2)
    assert [setting.name for setting in record.settings] == ["plain", "model, 8 tokens"]


async def test_a_comparison_whose_answer_the_server_ends_is_not_said_to_be_stopped_by_the_person() -> None:
    def send(asker: Asker, request: Answer) -> int:
        asker(Answered(1, TurnEnded("text", TOKENS, "cancelled", 0, stats(0.1))))
        return 1

    progress = ComparisonInProgress(Mock(send=send), wanted(MODEL))
    assert [event async for event in progress.events() if isinstance(event, Run)] == [
        next(progress.plan.runs)
    ]
    assert progress.broken_off == "ended by the server"


async def test_no_run_of_a_comparison_drafts_from_the_answers_before_it() -> None:
    asked: list[Answer] = []

    def send(asker: Asker, request: Answer) -> int:
        asked.append(request)
        asker(Answered(1, TurnEnded("text", TOKENS, "stop", 0, stats(0.1))))
        return 1

    link = Mock(info=None, pair=Mock(as_json=lambda: {"name": "p"}), send=send)
    _ = [event async for event in ComparisonInProgress(link, wanted(MODEL)).events()]
    assert len(asked) > 4 and all(request.fresh for request in asked)
