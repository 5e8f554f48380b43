"""Runs a plan with a pair in this process, for bench, check and report."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

from app.compare.collector import RunCollector
from app.compare.plan import Plan, Run
from app.engine.chat_prompt import by_think
from app.engine.same_text import first_difference
from app.engine.session import Session
from app.shell.errors import BadInput
from app.shell.output import Progress

if TYPE_CHECKING:
    from models.load.engine import LoadedPair


def run_plan(
    pair: "LoadedPair",
    collector: RunCollector,
    *,
    raw: bool = False,
    show: Callable[[str], None] = lambda text: None,
) -> Iterator[Run]:
    """Answer a plan's runs in turn; yield each once its answer and any difference are collected.

    `raw` continues a prompt's text as it is, without chat template; `show` gets a line about the next run.
    """
    plan = collector.plan
    ids = prompt_ids(pair, plan, raw=raw)
    for run in plan.runs:
        show(collector.doing(run))
        if plan.timed:
            pair.engine.forget()
        options = replace(plan.options_of(run), stop_tokens=pair.stop_tokens)
        rounds = list(pair.engine.generate(ids[run.prompt], options))
        tokens = tuple(token for played in rounds for token in played.tokens)
        collector.add(run, tokens, pair.engine.stats(rounds))
        for differing in collector.differing():
            prompt, setting = differing.place
            plain = plan.settings[setting].options(plan.options)
            difference = first_difference(pair, ids[prompt], plain, differing.plain, differing.drafted)
            collector.explain(differing, difference)
        yield run


def run_until_stopped(pair: "LoadedPair", plan: Plan, *, raw: bool) -> tuple[RunCollector, bool]:
    """Answer a plan's runs with a progress line; False if Ctrl+C stopped it before the end."""
    collector = RunCollector(plan)
    try:
        with Progress() as line:
            for _ in run_plan(pair, collector, raw=raw, show=line.show):
                continue
    except KeyboardInterrupt:
        return collector, False
    return collector, True


def prompt_ids(pair: "LoadedPair", plan: Plan, *, raw: bool) -> list[list[int]]:
    """Token ids of every prompt; BadInput for one that is too long."""
    session = Session(pair)
    found: list[list[int]] = []
    for question in plan.questions:
        asked = question.prompt.prompt if raw else question.messages
        options = plan.options
        ids, _ = session.prompt_ids(asked, options.max_tokens, template_values=by_think(options.think))
        if len(ids) >= pair.context_limit:
            raise BadInput(
                f"The prompt {question.prompt.id} has {len(ids)} tokens and the model's context holds "
                f"{pair.context_limit}. Give shorter ones: --prompts FILE."
            )
        found.append(ids)
    return found
