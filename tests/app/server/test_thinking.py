"""Whether and how much the model thinks, in each API's words."""

from typing import Any

import pytest

from tests.app.server.running_server import CHAT, RunningServer
from tests.app.server.test_other_apis import MESSAGES, RESPONSES, SAID


@pytest.mark.parametrize(
    ("path", "switch", "effort"),
    [
        (CHAT, lambda on: {"chat_template_kwargs": {"enable_thinking": on}},
         lambda x: {"reasoning_effort": x}),
        (CHAT, lambda on: {"chat_template_kwargs": {"enable_thinking": on, "other": 1}},
         lambda x: {"chat_template_kwargs": {"reasoning_effort": x if x != "none" else None}}),
        (RESPONSES, None, lambda x: {"reasoning": {"effort": x}}),
        (MESSAGES, lambda on: {"thinking": {"type": "enabled" if on else "disabled"}},
         lambda x: {"output_config": {"effort": x}}),
    ],
)  # fmt: skip
def test_whether_and_how_much_the_model_thinks_is_the_templates_to_obey(
    path: str, switch: Any, effort: Any, tiny_server: RunningServer
) -> None:
    def prompt_tokens(**more: Any) -> int:
        asked = {"messages": SAID, "input": SAID, "max_tokens": 1, "max_output_tokens": 1, **more}
        answer = tiny_server.ask(path, asked)
        assert answer.status == 200, answer.body
        used = answer.json["usage"]
        return used.get("prompt_tokens") or used["input_tokens"] + used.get("cache_read_input_tokens", 0)

    usual = prompt_tokens()
    assert prompt_tokens(**effort("high")) == usual + len("high") and prompt_tokens(**effort("none")) == usual
    if switch:
        assert prompt_tokens(**switch(True)) == usual + len("hm") and prompt_tokens(**switch(False)) == usual
