"""Answers with drafting against answers without, over all drafters and lengths."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from app.compare.bench.prompt_ids import prompt_ids
from app.compare.bench.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.engine.decoding import decode
from app.engine.difference import Difference
from app.engine.same_text import first_difference
from mlx_spec.types import DrafterName, Options

if TYPE_CHECKING:
    from models.load.engine import LoadedPair

LENGTHS = (0, 1, 2, 3, 4, 5)
SAMPLED_TEMPERATURE = 0.8

PROMPTS = ("chat-how", "code-sum", "summary-short", "copy-sentence", "reasoning-count")
"""Of the default set: each drafter has something to guess in some of them."""

Mode = Literal["greedy", "sampled"]


@dataclass(frozen=True, slots=True)
class Setting:
    """One way to answer with drafting."""

    mode: Mode
    drafter: DrafterName
    length: int


@dataclass(frozen=True, slots=True)
class Checked:
    """One prompt answered in one setting, compared with the plain answer."""

    prompt: str
    """Its id."""
    setting: Setting
    tokens: int
    accepted: int
    """Drafted tokens that stood: with none, the comparison proves little."""
    difference: Difference | None


def default_prompts() -> list[BenchPrompt]:
    """Those that are answered where nobody names others."""
    return [prompt for prompt in read_prompts(DEFAULT_PROMPTS) if prompt.id in PROMPTS]


def settings(pair: "LoadedPair") -> list[Setting]:
    """Every drafter the pair has, at every length, greedy and sampled; length 0 only once."""
    drafters: list[DrafterName] = ["lookup"]
    if pair.engine.can_draft:
        drafters = ["model", "lookup", "auto"]
    modes: tuple[Mode, ...] = ("greedy", "sampled")
    return [
        Setting(mode, drafter, length)
        for mode in modes
        for drafter in drafters
        for length in LENGTHS
        if length or drafter == drafters[0]
    ]


def check(
    pair: "LoadedPair",
    prompts: Sequence[BenchPrompt],
    *,
    max_tokens: int,
    seed: int = 0,
    raw: bool = False,
    progress: Callable[[str], None] = lambda step: None,
) -> Iterator[Checked]:
    """Answer every prompt in every setting.

    Raises:
        BadInput: a prompt cannot be used or does not fit the context.
    """
    greedy = Options(max_tokens=max_tokens, drafter="none", seed=seed, stop_tokens=pair.stop_tokens)
    bases: dict[Mode, Options] = {
        "greedy": greedy,
        "sampled": replace(greedy, temperature=SAMPLED_TEMPERATURE),
    }
    for prompt, ids in zip(prompts, prompt_ids(pair, prompts, max_tokens, raw), strict=True):
        progress(f"{prompt.id}, plain")
        plain = {mode: decode(pair.engine, ids, options).tokens for mode, options in bases.items()}
        for setting in settings(pair):
            progress(f"{prompt.id}, {setting.mode}, {setting.drafter}, length {setting.length}")
            base = bases[setting.mode]
            options = replace(base, drafter=setting.drafter, draft_length=setting.length)
            drafted = decode(pair.engine, ids, options)
            difference = first_difference(pair, ids, base, plain[setting.mode], drafted.tokens)
            accepted = drafted.stats.draft_n_accepted
            yield Checked(prompt.id, setting, len(drafted.tokens), accepted, difference)
