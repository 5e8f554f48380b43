"""Turns the text typed after `/compare` and `/sweep` into a plan."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import product
from typing import Any

from app.chat.conversation import Conversation
from app.compare.plan import Plan, Question, Setting, plan
from app.compare.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.engine.chat_prompt import Message
from app.settings.options import AUTO, OPTION_SETTINGS, AnswerOptions
from app.shell.errors import BadInput
from app.shell.named_file import plain_file
from mlx_spec.errors import OutOfRange
from mlx_spec.types import MAX_DRAFT_LENGTH

LAST = "last"
COMPARE_REPEATS, SWEEP_REPEATS, MOST_REPEATS = 3, 2, 50
SWEEP_LENGTHS = (None, *range(9))
"""Automatic (None), then fixed draft lengths; longer ones are added while they are faster."""
FIELDS = ("length", "drafter", "temperature", "prompts", "repeats")


def read_compare(text: str, conversation: Conversation, options: AnswerOptions) -> Plan:
    """`[last|all|FILE.jsonl]`: the chat's own setting against plain decoding."""
    questions = _questions(text.strip() or LAST, conversation)
    return plan(questions, [Setting.of(options)], options, COMPARE_REPEATS)


def read_sweep(text: str, conversation: Conversation, options: AnswerOptions) -> Plan:
    """`[length=0-8] [drafter=model,lookup] [temperature=0,0.8] [prompts=last|all|FILE] [repeats=N]`.

    Commas separate settings; drafters joined by `+` draft together. Defaults: length auto, 0 to 8, and
    longer ones while they are faster; the chat's drafter, temperature and last prompt.
    """
    given: dict[str, str] = {}
    for word in text.split():
        name, equals, given[name] = word.partition("=")
        if name not in FIELDS or not equals:
            raise BadInput(f"'{word}' is nothing to sweep. Give {', '.join(f'{f}=' for f in FIELDS)}.")
    repeats = given.get("repeats", str(SWEEP_REPEATS))
    if repeats not in map(str, range(1, MOST_REPEATS + 1)):
        raise BadInput(f"repeats is {repeats}; it must be between 1 and {MOST_REPEATS}.")
    try:
        lengths = _lengths(given["length"]) if "length" in given else SWEEP_LENGTHS
        drafters = _values(given, "drafter", options.drafter)
        temperatures = _values(given, "temperature", options.temperature)
        wanted = tuple(
            Setting.of(Setting(drafter, length, temperature).options(options))
            for temperature, drafter, length in product(temperatures, drafters, lengths)
        )
    except OutOfRange as error:
        raise BadInput(str(error)) from None
    if not any(setting.drafts for setting in wanted):
        raise BadInput("None of these settings drafts. Give a length above 0, for example length=1-4.")
    questions = _questions(given.get("prompts", LAST), conversation)
    return plan(questions, wanted, options, int(repeats), climbs="length" not in given)


def _lengths(text: str) -> Sequence[int | None]:
    found: list[int | None] = []
    for part in text.split(","):
        first, dash, last = part.partition("-")
        try:
            lengths = [None] if part == AUTO else range(int(first), int(last if dash else first) + 1)
        except ValueError:
            lengths = ()
        if not lengths:
            raise BadInput(f"'{part}' is no length. Give numbers, a range such as 0-8, or auto.")
        if (lengths[-1] or 0) > MAX_DRAFT_LENGTH:
            raise BadInput(f"length is {last or first}; it must be between 0 and {MAX_DRAFT_LENGTH}.")
        found += lengths
    return found


def _values(given: Mapping[str, str], name: str, usual: Any) -> Sequence[Any]:
    """An option's comma-separated values; OutOfRange for an invalid one."""
    read = next(setting.read for setting in OPTION_SETTINGS if setting.field == name)
    return [read(part) for part in given[name].split(",")] if name in given else [usual]


def sweep_lengths(drafting: Sequence[Setting]) -> tuple[Setting, ...]:
    """The same drafters and temperatures at every length of a default sweep."""
    kinds = dict.fromkeys(replace(setting, draft_length=None) for setting in drafting if setting.drafts)
    return tuple(
        replace(kind, draft_length=length) for kind in kinds for length in SWEEP_LENGTHS if length != 0
    )


def _questions(text: str, conversation: Conversation) -> list[Question]:
    """The chat's last prompt with history and files, or a set's prompts after the chat's instructions."""
    if text != LAST:
        before = [Message(role="system", content=conversation.system)] if conversation.system else []
        prompts = read_prompts(DEFAULT_PROMPTS if text == "all" else plain_file(text))
        return [Question.of(prompt, *before) for prompt in prompts]
    asked = conversation.last
    if asked is None:
        raise BadInput("There is no prompt yet. Send one, or give a set: /compare all, /sweep prompts=all")
    files = ", ".join(file.name for file in asked.attachments)
    prompt = BenchPrompt("last", "chat", f"{asked.text} (with {files})" if files else asked.text)
    messages, documents = conversation.messages(asked), conversation.documents(asked)
    return [Question(prompt, tuple(messages), tuple(documents))]
