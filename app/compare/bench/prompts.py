"""The prompts of a comparison: one JSON object per line."""

from dataclasses import dataclass
from json import JSONDecodeError
from pathlib import Path

from app.shell.errors import BadInput
from app.shell.prompt_source import check_characters, read_text
from models.files import parse_json

DEFAULT_PROMPTS = Path(__file__).parent.parent / "prompts" / "default.jsonl"

FIELDS = ("id", "category", "prompt")


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    """One prompt of a set."""

    id: str
    category: str
    prompt: str


def read_prompts(file: Path) -> list[BenchPrompt]:
    """The prompts of a file, in its order.

    Raises:
        BadInput: the file or a line of it cannot be used; the message names the line.
    """
    prompts: list[BenchPrompt] = []
    for number, line in enumerate(read_text(file).split("\n"), 1):
        if line.strip():
            prompts.append(_prompt(line, f"{file}, line {number}"))
    if not prompts:
        raise BadInput(f"{file} holds no prompts. Give one JSON object per line: {', '.join(FIELDS)}.")
    ids = [prompt.id for prompt in prompts]
    if twice := next((i for i in ids if ids.count(i) > 1), None):
        raise BadInput(f"{file} holds the id {twice} twice. Give every prompt its own.")
    return prompts


def _prompt(line: str, where: str) -> BenchPrompt:
    try:
        fields = parse_json(line)
    except JSONDecodeError as error:
        raise BadInput(
            f"{where} cannot be read as JSON: {error.msg}, at character {error.pos + 1}."
        ) from None
    except ValueError as error:
        raise BadInput(f"{where} cannot be read as JSON: {error}.") from None
    if not isinstance(fields, dict):
        raise BadInput(f"{where} is no JSON object. Give {', '.join(FIELDS)}.")
    for name in FIELDS:
        if not isinstance(fields.get(name), str) or not fields[name].strip():
            raise BadInput(f'{where} has no text in the field "{name}".')
        check_characters(fields[name], f'{where}, field "{name}",')
    return BenchPrompt(*(fields[name] for name in FIELDS))
