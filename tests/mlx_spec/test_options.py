"""Options and token ids refuse what makes no sense, in a sentence; NumPy's integers become Python's."""

import subprocess
import sys

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import BadOption, Options
from mlx_spec.errors import OutOfRange
from mlx_spec.token_ids import token_ids


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1}, {"temperature": 11.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1},
        {"min_p": 1.5}, {"repetition_penalty": 0.0}, {"seed": -1}, {"draft_length": -1},
        {"draft_length": 32}, {"repetition_context": 0},
        {"temperature": 1e-9}, {"top_p": 1e-9}, {"repetition_penalty": 1e-9}, {"repetition_context": 2**31},
        {"top_p": float("inf")}, {"min_p": -float("inf")},
    ],
)  # fmt: skip
def test_an_option_out_of_range_is_named_with_its_value(bad):
    ((name, value),) = bad.items()
    with pytest.raises(OutOfRange, match=f"^{name} is ") as refused:
        Options(**bad)
    assert (refused.value.option, refused.value.value) == (name, value)
    assert refused.value.of("--x") == str(refused.value).replace(name, "--x", 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [
        (0.00001, "0.00001"), (-0.1, "-0.1"), (1e-12, "1e-12"), (11.0, "11"),
        (float("nan"), "nan"), (float("inf"), "inf"), (1e300, "1e+300"),
    ],
)  # fmt: skip
def test_a_refused_number_is_written_as_people_write_it(value: float, written: str) -> None:
    with pytest.raises(OutOfRange) as refused:
        Options(temperature=value)
    wanted = "0 (no sampling) or between 0.0001 and 10"
    assert str(refused.value) == f"temperature is {written}; it must be {wanted}."


def test_a_refused_nought_is_no_decimal() -> None:
    with pytest.raises(OutOfRange, match="^top_p is 0; it must be between 0.0001 and 1.$"):
        Options(top_p=0.0)


WRONG_KINDS = """
import numpy as np
from mlx_spec import BadOption, Options
whole = ("max_tokens", "top_k", "seed", "repetition_context", "draft_length")
real = ("temperature", "top_p", "min_p", "repetition_penalty")
nan = float("nan")
bad = [(name, value) for name in whole for value in (2.5, nan, True, "3", np.float32(2), [3])]
bad += [(name, value) for name in real for value in (True, "0.5", None, [0.5])]
bad += [("max_tokens", None), ("stop_tokens", [2.5]), ("stop_tokens", {-1}), ("stop_tokens", 3)]
for name, value in bad:
    try:
        Options(**{name: value})
    except BadOption as error:
        print(error)
    else:
        print("accepted", name, value)
good = Options(max_tokens=np.int32(9), seed=np.uint64(3), top_p=np.float32(0.5), stop_tokens=[np.int64(7)])
same = good == Options(max_tokens=9, seed=3, top_p=0.5, stop_tokens={7})
print(type(good.max_tokens), type(good.seed), type(good.top_p), same)
"""


def in_a_process_of_its_own(code: str) -> list[str]:
    """Where no annotations are checked, as for a user; a crash of the process fails the test."""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def test_options_of_the_wrong_kind_are_refused_in_a_sentence_and_integers_of_numpy_are_not():
    *refused, last = in_a_process_of_its_own(WRONG_KINDS)
    assert len(refused) == 5 * 6 + 4 * 4 + 4
    assert refused[0] == "max_tokens is 2.5; it must be a whole number, at least 1."
    assert (
        refused[30] == "temperature is True; it must be a number, 0 (no sampling) or between 0.0001 and 10."
    )
    assert (
        refused[-3]
        == "Token ids are whole numbers, and stop_tokens holds 2.5. Give what the tokenizer returns."
    )
    assert not any(line.startswith("accepted") for line in refused)
    assert last == "<class 'int'> <class 'int'> <class 'float'> True"


@pytest.mark.parametrize("bad", [float("nan"), 2.7, 2.0, True, "a", None, [1], np.float64(2), np.True_])
def test_what_is_no_whole_number_is_no_token_id(bad):
    with pytest.raises(
        BadOption, match="^Token ids are whole numbers, and the prompt holds .*tokenizer returns.$"
    ):
        token_ids([1, bad, 2], "the prompt", 10)


@pytest.mark.parametrize(
    ("bad", "why"), [(-1, "ids begin at 0"), (10, "the vocabulary has 10"), (2**70, "has 10")]
)
def test_ids_outside_the_vocabulary_are_named(bad, why):
    with pytest.raises(BadOption, match=f"^There is no token {bad}, which the prompt holds: .*{why}"):
        token_ids([1, bad, 2], "the prompt", 10)


@pytest.mark.parametrize(
    "given", [[3, 0, 9], (3, 0, 9), np.array([3, 0, 9]), mx.array([3, 0, 9]), [np.uint8(3), 0, 9]]
)
def test_whole_numbers_of_other_libraries_become_pythons(given):
    found = token_ids(given, "the prompt", 10)
    assert found == [3, 0, 9] and {type(token) for token in found} == {int}
    assert token_ids([], "the prompt", 10) == []


BAD_PROMPTS = """
import numpy as np
from mlx_spec import BadOption, Engine, Options
from tests.mlx_spec.tiny_models import one_layer, prompt
engine, nan = Engine(one_layer(), context_limit=100), float("nan")
bad = [([1, nan], ()), ([nan] * 3, ()), ([2.7, 1], ()), ("ab", ()), ([1], [[nan]]), ([1], [[500]])]
for ids, documents in bad:
    try:
        list(engine.generate(ids, Options(max_tokens=2), documents=documents))
    except BadOption as error:
        print(error)
wanted = [r.tokens for r in engine.generate(prompt(9, 1), Options(max_tokens=5))]
print(wanted == [r.tokens for r in engine.generate(np.array(prompt(9, 1)), Options(max_tokens=np.int64(5)))])
"""


def test_an_engine_refuses_ids_that_are_none_and_goes_on():
    *refused, same = in_a_process_of_its_own(BAD_PROMPTS)
    assert len(refused) == 6 and same == "True"
    assert all("the prompt" in line for line in refused[:4]) and all(
        "a document" in line for line in refused[4:]
    )
