"""What texts leave behind at their places in the caches, and what the next ones make of it."""

import mlx.core as mx

from mlx_spec import Engine, Options
from mlx_spec.rows import Rows
from mlx_spec.text import Text
from tests.mlx_spec.tiny_models import engine_of, one_layer, prompt, text


def after_three(engine: Engine, prompt_length: int, others: int, rounds: int) -> tuple[Rows, Text]:
    """A text that left while three with prompts of `others` tokens went on, some rounds after it left."""
    rows = engine.rows()
    first = rows.add(prompt(prompt_length, 1), Options(max_tokens=4))
    for i in range(3):
        rows.add(prompt(others, 2 + i), Options(max_tokens=40))
    while not first.ended:
        rows.step()
    for _ in range(rounds):
        rows.step()
    return rows, first


def test_a_text_that_left_while_longer_ones_went_on_is_continued_from_what_was_read_of_it():
    engine = engine_of(one_layer(), context_limit=512)
    rows, first = after_three(engine, 20, 60, rounds=3)
    again = rows.add([*first.tokens, 3], Options(max_tokens=8))
    while rows.busy:
        rows.step()
    assert again.cached_tokens == 23 and again.tokens[25:] == text(engine, again.tokens[:25], max_tokens=8)


def test_what_a_long_text_left_does_not_make_the_passes_of_shorter_ones_longer():
    rows, long = after_three(engine_of(one_layer(), context_limit=512), 200, 9, rounds=1)
    again = rows.add(long.tokens, Options(max_tokens=2))
    while rows.busy:
        rows.step()
    assert 0 < again.cached_tokens < 40


def test_a_short_prompt_is_read_in_its_first_round_only_where_no_other_text_waits_for_that():
    rows = engine_of(one_layer(), context_limit=512).rows()
    first = rows.add(prompt(30, 1), Options(max_tokens=20))
    while not first.rounds:
        rows.step()
    second = rows.add(prompt(30, 2), Options(max_tokens=20))
    rows.step()
    assert (first.first_read, second.first_read) == (0, 29)


def test_the_peak_of_memory_is_that_of_this_answer():
    engine, big = engine_of(one_layer(), context_limit=512), mx.ones((32, 1024, 1024))
    mx.eval(big)
    del big
    mx.clear_cache()
    before = mx.get_active_memory()
    rounds = list(engine.generate(prompt(9), Options(max_tokens=5)))
    assert before < engine.stats(rounds).peak_memory_bytes < before + 2**26
