"""The prompts of a comparison: one JSON object per line."""

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from app.shell.errors import BadInput
from app.shell.prompt_source import read_text

if TYPE_CHECKING:
    from pydantic import TypeAdapter

DEFAULT_PROMPTS = Path(__file__).with_name("default_prompts.jsonl")
EXAMPLE = 'A line is like {"id": "1", "category": "chat", "prompt": "Hello!"}.'


@dataclass(frozen=True, slots=True)
class BenchPrompt:
    id: str
    category: str
    prompt: str


def read_prompts(file: Path) -> list[BenchPrompt]:
    from pydantic import TypeAdapter

    kind, lines = TypeAdapter(BenchPrompt), enumerate(read_text(file).split("\n"), 1)
    prompts = [_prompt(kind, line, f"{file}, line {number}") for number, line in lines if line.strip()]
    if not prompts:
        raise BadInput(f"{file} holds no prompts. {EXAMPLE}")
    (most, times), *_ = Counter(prompt.id for prompt in prompts).most_common(1)
    if times > 1:
        raise BadInput(f"{file} holds the id {most} twice. Give every prompt its own.")
    return prompts


def _prompt(kind: "TypeAdapter[BenchPrompt]", line: str, where: str) -> BenchPrompt:
    from pydantic import ValidationError

    try:
        prompt = kind.validate_json(line)
    except ValidationError as error:
        problem = error.errors()[0]
        field = "".join(f', field "{name}"' for name in problem["loc"])
        message = problem["msg"].replace("line 1 column", "character")
        raise BadInput(f"{where}{field}: {message}. {EXAMPLE}") from None
    for name, text in (("id", prompt.id), ("prompt", prompt.prompt)):
        if not text.strip():
            raise BadInput(f"{where}: the {name} is empty.")
    return prompt
