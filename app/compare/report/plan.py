"""How much of everything a report measures."""

from dataclasses import dataclass

from app.compare.bench.prompts import DEFAULT_PROMPTS, BenchPrompt, read_prompts
from app.compare.check.lossless import default_prompts


@dataclass(frozen=True, slots=True)
class Plan:
    """Prompts and sizes of the three measurements."""

    check_prompts: tuple[BenchPrompt, ...]
    check_tokens: int
    bench_prompts: tuple[BenchPrompt, ...]
    bench_tokens: int
    repeats: int


def make_plan(quick: bool) -> Plan:
    """What `check` and `bench` do by themselves, or the least that says something."""
    prompts, chosen = read_prompts(DEFAULT_PROMPTS), default_prompts()
    if not quick:
        return Plan(tuple(chosen), 48, tuple(prompts), 128, 3)
    first = {prompt.category: prompt for prompt in reversed(prompts)}
    one_each = [prompt for prompt in prompts if prompt in first.values()]
    return Plan(tuple(chosen[:2]), 24, tuple(one_each), 48, 1)
