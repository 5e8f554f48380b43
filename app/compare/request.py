"""What a person asks to be compared, as typed after `/compare` and `/sweep`, and the plan it becomes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from difflib import get_close_matches
from itertools import product

from app.chat.conversation import Conversation
from app.compare.plan import Plan, Question, plan
from app.compare.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.compare.setting import Setting
from app.engine.chat_prompt import Message
from app.shell.errors import BadInput
from app.shell.named_file import plain_file
from mlx_spec.errors import OutOfRange
from mlx_spec.types import MAX_DRAFT_LENGTH, DrafterName, Options

LAST = "last"
COMPARE_REPEATS, SWEEP_REPEATS = 3, 2
MOST_REPEATS = 50
SWEEP_LENGTHS = "0-8"
DRAFTERS: tuple[DrafterName, ...] = ("auto", "model", "lookup")
FIELDS = ("length", "drafter", "temperature", "prompts", "repeats")

_NUMBER = re.compile(r"\d{1,9}")
"""Python refuses to read those of thousands of digits."""


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Settings that draft, the prompts, how often."""

    drafting: tuple[Setting, ...]
    prompts: tuple[BenchPrompt, ...] | None
    """None: the last prompt of the chat."""
    repeats: int


def read_compare(text: str, options: Options) -> CompareRequest:
    """`[last|all|FILE.jsonl]`: the chat's own setting against plain decoding.

    Raises:
        BadInput: the file cannot be used.
    """
    return CompareRequest((Setting.of(options),), _prompts(text.strip() or LAST), COMPARE_REPEATS)


def read_sweep(text: str, options: Options) -> CompareRequest:
    """`[length=0-8] [drafter=model,lookup] [temperature=0,0.8] [prompts=last|all|FILE] [repeats=N]`.

    What is left out: lengths 0 to 8, drafter and temperature of the chat, its last prompt.

    Raises:
        BadInput: a word or a value cannot be used; the message says what can.
    """
    given = dict(_field(word) for word in text.split())
    lengths = _lengths(given.get("length", SWEEP_LENGTHS))
    drafters = _drafters(given["drafter"]) if "drafter" in given else (options.drafter,)
    temperatures = _numbers(given["temperature"]) if "temperature" in given else (options.temperature,)
    wanted = [
        Setting.of(_checked(options, drafter, length, temperature))
        for temperature, drafter, length in product(temperatures, drafters, lengths)
    ]
    if not any(setting.drafts for setting in wanted):
        raise BadInput("Nothing there drafts. Name a length above 0, for example length=1-4.")
    return CompareRequest(
        tuple(wanted),
        _prompts(given.get("prompts", LAST)),
        _repeats(given["repeats"]) if "repeats" in given else SWEEP_REPEATS,
    )


def _field(word: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if name not in FIELDS or not equals or not value:
        near = get_close_matches(name, FIELDS, n=1)
        hint = f"Did you mean {near[0]}=?" if near else f"Give {', '.join(f'{f}=' for f in FIELDS)}."
        raise BadInput(f"'{word}' is nothing to sweep. {hint}")
    return name, value


def _lengths(text: str) -> tuple[int | None, ...]:
    found: list[int | None] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        last = last if dash else first
        if part == "auto":
            found.append(None)
        elif _NUMBER.fullmatch(first) and _NUMBER.fullmatch(last) and int(first) <= int(last):
            if int(last) > MAX_DRAFT_LENGTH:
                raise BadInput(f"length is {last}; it must be between 0 and {MAX_DRAFT_LENGTH}.")
            found += range(int(first), int(last) + 1)
        else:
            raise BadInput(f"'{part}' is no length. Give numbers, a range such as 0-8, or auto.")
    return tuple(dict.fromkeys(found))


def _drafters(text: str) -> tuple[DrafterName, ...]:
    asked = text.split(",")
    for part in asked:
        if part not in DRAFTERS:
            raise BadInput(f"'{part}' is none of {', '.join(DRAFTERS)}.")
    return tuple(drafter for drafter in DRAFTERS if drafter in asked)


def _numbers(text: str) -> tuple[float, ...]:
    try:
        return tuple(dict.fromkeys(float(part) for part in text.split(",")))
    except ValueError:
        raise BadInput(f"'{text}' are no temperatures. Give numbers, for example 0,0.8.") from None


def _checked(options: Options, drafter: DrafterName, length: int | None, temperature: float) -> Options:
    try:
        return Setting(drafter, length, temperature).options(options)
    except OutOfRange as error:
        raise BadInput(str(error)) from None


def _prompts(text: str) -> tuple[BenchPrompt, ...] | None:
    if text == LAST:
        return None
    return tuple(read_prompts(DEFAULT_PROMPTS if text == "all" else plain_file(text)))


def _repeats(text: str) -> int:
    if not _NUMBER.fullmatch(text) or not 1 <= int(text) <= MOST_REPEATS:
        raise BadInput(f"repeats is {text}; it must be between 1 and {MOST_REPEATS}.")
    return int(text)


def sweep_lengths(drafting: Sequence[Setting]) -> tuple[Setting, ...]:
    """The same drafters and temperatures at every length of a default sweep."""
    kinds = dict.fromkeys(replace(setting, draft_length=None) for setting in drafting if setting.drafts)
    return tuple(replace(kind, draft_length=n) for kind in kinds for n in _lengths(SWEEP_LENGTHS) if n)


def plan_of(request: CompareRequest, conversation: Conversation, options: Options) -> Plan:
    """The last prompt of the branch in view is asked as the chat asks it, attached files and all.

    A set's prompts are asked one by one, after the chat's instructions and nothing else.

    Raises:
        BadInput: the last prompt is wanted, and there is none.
    """
    if request.prompts is None:
        questions = [_last(conversation)]
    else:
        before = [Message(role="system", content=conversation.system)] if conversation.system else []
        questions = [Question.of(prompt, *before) for prompt in request.prompts]
    return plan(questions, request.drafting, replace(options, stop_tokens=frozenset()), request.repeats)


def _last(conversation: Conversation) -> Question:
    asked = conversation.last
    if asked is None:
        raise BadInput("There is no prompt to compare yet. Send one first, or give a set: /compare all")
    files = ", ".join(file.name for file in asked.attachments)
    text = f"{asked.text} (with {files})" if files else asked.text
    return Question(
        BenchPrompt("last", "chat", text),
        tuple(conversation.messages(asked)),
        tuple(conversation.documents(asked)),
    )
