"""`think`: whether the model thinks, in the words of its chat template."""

from pathlib import Path

import pytest

from app.engine.chat_prompt import thinks
from app.engine.message import Message
from app.engine.protocol import Answer
from app.engine.session import Session
from app.settings.options import AnswerOptions
from mlx_spec.errors import OutOfRange
from tests.app.scripted_pair import ScriptedEngine, scripted_session
from tests.models.tiny_models import make_tokenizer

USER: tuple[Message, ...] = ({"role": "user", "content": "hi"},)
LEVELS = ("low", "medium", "high")


BODY = "{% for m in messages %}<{{ m.role }}>{{ m.content }}{% endfor %}"
SWITCH = "{% if enable_thinking is defined and not enable_thinking %}<think></think>{% endif %}"
OTHER_SWITCH = "{% if thinking %}<think>{% else %}</think>{% endif %}"


def asked_each(
    template: str, obeyed: tuple[str, ...], tmp_path: Path
) -> tuple[Session, ScriptedEngine, dict[str, list[int]]]:
    """A session whose template obeys these values, and the prompt with each value."""
    from mlx_lm.tokenizer_utils import load

    make_tokenizer(tmp_path, template=template)
    tokenizer = load(tmp_path)
    session, engine = scripted_session([1], tokenizer=tokenizer, stop_tokens=frozenset({1}))
    assert thinks(tokenizer) == ("auto", *obeyed)
    prompts: dict[str, list[int]] = {}
    for think in ("auto", "on", "off", *LEVELS):
        list(session.answer(Answer(0, USER, AnswerOptions(think=think))))
        prompts[think] = engine.prompts[-1]
    return session, engine, prompts


@pytest.mark.parametrize(
    ("template", "obeyed"),
    [
        (BODY + SWITCH, ("on", "off")),  # Qwen3
        (BODY + OTHER_SWITCH, ("on", "off")),  # DeepSeek V3.1
        ("{{ reasoning_effort or 'medium' }}" + BODY, LEVELS),  # gpt-oss
        (BODY, ()),
    ],
)
def test_a_model_obeys_what_changes_its_prompt(
    template: str, obeyed: tuple[str, ...], tmp_path: Path
) -> None:
    session, engine, prompts = asked_each(template, obeyed, tmp_path)
    assert len({*map(tuple, prompts.values())}) == max(1, len(obeyed))
    own = {"enable_thinking": False, "thinking": False, "reasoning_effort": "low"}
    list(session.answer(Answer(0, USER, AnswerOptions(think="high"), template_values=own)))
    assert engine.prompts[-1] == prompts["low" if obeyed == LEVELS else "off"]
    level = {"reasoning_effort": "high"}  # which many clients always send
    list(session.answer(Answer(0, USER, AnswerOptions(think="on"), template_values=level)))
    assert engine.prompts[-1] == prompts["high" if obeyed == LEVELS else "on"]
    switch = {"enable_thinking": True, "thinking": True}  # as Anthropic's clients do
    list(session.answer(Answer(0, USER, AnswerOptions(think="low"), template_values=switch)))
    assert engine.prompts[-1] == prompts["low" if obeyed == LEVELS else "on"]


@pytest.mark.parametrize("effort", ["low", "high"])
def test_a_level_is_obeyed_if_the_template_tells_any_from_the_others(effort: str, tmp_path: Path) -> None:
    from mlx_lm.tokenizer_utils import load

    make_tokenizer(tmp_path, template="{{ 'Think.' if reasoning_effort == '" + effort + "' }}" + BODY)
    assert thinks(load(tmp_path)) == ("auto", *LEVELS)


REFUSING = (
    "{%% set effort = reasoning_effort or '%s' %%}"
    "{%% if effort not in %s %%}{{ raise_exception('Unexpected effort ' ~ effort) }}{%% endif %%}{{ effort }}"
)
QWEN = SWITCH + REFUSING % ("xhigh", "('xhigh', 'medium', 'low')") + BODY  # Qwen3.8
MISTRAL = REFUSING % ("none", "('none', 'high')") + BODY  # Mistral Small 4


@pytest.mark.parametrize(
    ("template", "obeyed"), [(QWEN, ("on", "off", "low", "medium")), (MISTRAL, ("high",))]
)
def test_a_level_that_the_template_refuses_is_not_obeyed_and_changes_nothing(
    template: str, obeyed: tuple[str, ...], tmp_path: Path
) -> None:
    session, engine, prompts = asked_each(template, obeyed, tmp_path)
    assert [level for level in LEVELS if prompts[level] != prompts["auto"]] == [
        level for level in LEVELS if level in obeyed
    ]
    list(session.answer(Answer(0, USER, AnswerOptions(), template_values={"reasoning_effort": "max"})))
    assert engine.prompts[-1] == prompts["auto"]


def test_another_value_of_think_is_refused() -> None:
    with pytest.raises(OutOfRange, match="think is maybe; it must be auto, on, off, low, medium or high"):
        AnswerOptions(think="maybe")
