"""Statistics are a fold over rounds; the import stays light."""

import subprocess
import sys

import pytest

from mlx_spec import Round, summarise


def a_round(drafted: int, accepted: int, seconds: float = 0.1, **more) -> Round:
    return Round(tuple(range(drafted)), accepted, tuple(range(accepted + 1)), "model", seconds, **more)


def test_rates_have_the_denominators_they_name():
    stats = summarise([a_round(3, 3), a_round(3, 0), a_round(3, 1), a_round(0, 0)], prompt_tokens=7)
    assert (stats.tokens, stats.rounds, stats.draft_n, stats.draft_n_accepted) == (8, 4, 9, 4)
    assert stats.acceptance_rate == pytest.approx(4 / 9)
    assert stats.accepted_per_round == 1
    assert stats.acceptance_by_position == pytest.approx((2 / 3, 1 / 2, 1))
    assert stats.tokens_per_second == pytest.approx(4 / 0.3)
    assert stats.prompt_tokens == 7
    assert summarise([a_round(0, 0)]).tokens_per_second == 0, "one round is the reading of the prompt"
    none = summarise([])
    assert (none.tokens, none.tokens_per_second, none.acceptance_rate) == (0, 0, 0)


def test_time_to_the_first_token_counts_prefill_and_the_first_round():
    stats = summarise([a_round(0, 0, 0.2), a_round(0, 0, 0.1)], prefill_seconds=1.0)
    assert stats.time_to_first_token == pytest.approx(1.2)


def test_the_draft_share_comes_from_timed_rounds_only():
    assert summarise([a_round(3, 1)]).draft_share is None
    assert summarise([a_round(3, 1), a_round(3, 1, draft_seconds=0.02)]).draft_share == pytest.approx(0.2)


def test_the_rate_leaves_out_the_first_round_of_each_part():
    first = [a_round(3, 3, 0.2), a_round(3, 0), a_round(0, 0)]
    both = summarise([*first, a_round(3, 1, 0.4), a_round(3, 2)], continued_at=3)
    assert both.tokens == 11 and both.decode_seconds == pytest.approx(0.9)
    assert both.tokens_per_second == pytest.approx((1 + 1 + 3) / (0.1 + 0.1 + 0.1))
    stopped_at_once = summarise(first, continued_at=3)
    assert stopped_at_once.tokens_per_second == pytest.approx(summarise(first).tokens_per_second)


def test_importing_the_package_loads_no_mlx_until_an_engine_is_asked_for():
    code = (
        "import sys, mlx_spec; mlx_spec.Options; print('mlx.core' in sys.modules or 'mlx_lm' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout == "False\n"
