"""Invalid options and token ids are refused with a full sentence; NumPy's integers become Python's."""

import pickle
import subprocess
import sys

import mlx.core as mx
import numpy as np
import pytest

from mlx_spec import BadOption, Options
from mlx_spec.errors import ContextFull, OutOfRange
from mlx_spec.token_ids import token_ids

NAN, INFINITE = float("nan"), float("inf")


@pytest.mark.parametrize(
    "bad",
    [
        {"temperature": -0.1}, {"temperature": 11.0}, {"top_p": 0.0}, {"top_p": 1.1}, {"top_k": -1},
        {"min_p": 1.5}, {"repetition_penalty": 0.0}, {"seed": -1}, {"draft_length": -1},
        {"draft_length": 32}, {"repetition_context": 0}, {"max_tokens": 0}, {"max_tokens": -1},
        {"temperature": 1e-9}, {"top_p": 1e-9}, {"repetition_penalty": 1e-9}, {"repetition_context": 2**31},
        {"top_p": INFINITE}, {"min_p": -INFINITE},
    ],
    ids=str,
)  # fmt: skip
def test_an_option_out_of_range_is_named_with_its_value(bad):
    ((name, value),) = bad.items()
    with pytest.raises(OutOfRange, match=f"^{name} is ") as refused:
        Options(**bad)
    assert (refused.value.option, refused.value.value) == (name, value)
    assert refused.value.of("--x") == str(refused.value).replace(name, "--x", 1)


@pytest.mark.parametrize(
    ("value", "written"),
    [(1e-5, "0.00001"), (1e-12, "1e-12"), (11.0, "11"), (NAN, "nan"), (INFINITE, "inf"), (1e300, "1e+300")],
)
def test_a_refused_number_is_written_as_people_write_it(value, written):
    with pytest.raises(OutOfRange) as refused:
        Options(temperature=value)
    wanted = "0 (no sampling) or between 0.0001 and 10"
    assert str(refused.value) == f"temperature is {written}; it must be {wanted}."


WITHOUT_TYPE_CHECKS = """
import numpy as np
from mlx_spec import BadOption, Engine, Options, SpecError
from mlx_spec.drafters.lookup import LookupDrafter
from tests.mlx_spec.tiny_models import one_layer, prompt, text
nan = float("nan")

def refused(call, *given, **options):
    try:
        call(*given, **options)
    except SpecError as error:
        print(error)
    else:
        print("accepted", given, options)

for name in ("max_tokens", "top_k", "seed", "repetition_context", "draft_length"):
    for value in (2.5, nan, True, "3", np.float64(2), [3]):
        refused(Options, **{name: value})
for name in ("temperature", "top_p", "min_p", "repetition_penalty"):
    for value in (True, "0.5", None, [0.5]):
        refused(Options, **{name: value})
for name, value in (("max_tokens", None), ("stop_tokens", [2.5]), ("stop_tokens", {-1}), ("stop_tokens", 3)):
    refused(Options, **{name: value})
for value in (None, 3, ["lookup"], np.array(["lookup", "eagle"]), "", "lookup+"):
    refused(Options, drafter=value)
for value in (None, 3, ["token"], np.array(["token"]), np.array(["token", "block"]), ""):
    refused(Options, verify=value)
target = one_layer()
for given in ({"context_limit": None}, {"context_limit": 0}, {"context_limit": 9, "kv_bits": "4"}):
    refused(Engine, target, **given)
for given in ([target, ["lookup"]], [target, [LookupDrafter]], ["builtin"]):
    refused(Engine, *given, context_limit=9)
engine = Engine(target, context_limit=100)
refused(engine.rows, 0)
refused(engine.next_scores, [], Options())
refused(engine.generate, [1], {"max_tokens": 5})
refused(engine.generate_batch, [[1], [2]], [Options()])
refused(engine.generate, 3, Options())
for ids in ([1, nan], [2.0, 1], [True], [None], [np.float64(2)], [np.True_], [[1]], "ab", [1, 120, 2], [-3]):
    refused(engine.generate, ids, Options())
for document in ([nan], [120]):
    refused(engine.generate, [1], Options(), documents=[[], document])
assert text(engine, prompt(9), max_tokens=5) == text(engine, np.array(prompt(9)), max_tokens=np.int64(5))
good = Options(max_tokens=np.int32(9), seed=np.uint64(3), top_p=np.float32(0.5), stop_tokens=[np.int64(7)])
assert good == Options(max_tokens=9, seed=3, top_p=0.5, stop_tokens={7})
print(type(good.max_tokens), type(good.seed), type(good.top_p))
"""


def test_what_is_of_the_wrong_kind_is_refused_in_a_sentence_and_integers_of_numpy_are_not():
    """In a process that does not check annotations, as for a user; if it crashes, the test fails."""
    code = [sys.executable, "-c", WITHOUT_TYPE_CHECKS]
    *refused, last = subprocess.run(code, capture_output=True, text=True, check=True).stdout.splitlines()
    assert len(refused) == 5 * 6 + 4 * 4 + 4 + 6 + 6 + 11 + 10 + 2
    assert not any(line.startswith("accepted") for line in refused)
    for wanted in (
        "max_tokens is 2.5; it must be a whole number, at least 1.",
        "temperature is True; it must be a number, 0 (no sampling) or between 0.0001 and 10.",
        "Token ids are whole numbers, and stop_tokens holds 2.5. Give what the tokenizer returns.",
        "drafter is None; it must be auto, none, or names joined by +.",
        "drafter is empty; it must be auto, none, or names joined by +.",
        "verify is ['token']; it must be coupled, token or block.",
        "verify is ['token' 'block']; it must be coupled, token or block.",
        "max_tokens is '3'; it must be a whole number, at least 1.",
        "max_tokens is 2.0; it must be a whole number, at least 1.",
        "Token ids are given as a list, and stop_tokens is 3. Give what the tokenizer returns.",
        "Token ids are given as a list, and the prompt is 3. Give what the tokenizer returns.",
        "context_limit is None; it must be a whole number, at least 1.",
        "kv_bits is '4'; it must be a whole number, at least 0.",
        "'lookup' is not a drafter. Give instances of classes that subclass Drafter.",
        "The target is 'builtin'; it must be a model that mlx-lm loaded.",
        "most is 0; it must be a whole number, at least 1.",
        "The options are {'max_tokens': 5}; they must be mlx_spec.Options(...).",
        "There are 2 prompts and 1 options; give one each.",
    ):
        assert wanted in refused
    assert all("the prompt" in line for line in refused[-12:-2])
    assert all("a document" in line for line in refused[-2:])
    assert last == "<class 'int'> <class 'int'> <class 'float'>"


@pytest.mark.parametrize(("bad", "why"), [(-1, "ids begin at 0"), (10, "has 10"), (2**70, "has 10")])
def test_ids_outside_the_vocabulary_are_named(bad, why):
    with pytest.raises(BadOption, match=f"^There is no token {bad}, which the prompt holds: .*{why}"):
        token_ids([1, bad, 2], "the prompt", 10)


@pytest.mark.parametrize("given", [(3, 0, 9), np.array([3, 0, 9]), mx.array([3, 0, 9]), [np.uint8(3), 0, 9]])
def test_whole_numbers_of_other_libraries_become_pythons(given):
    found = token_ids(given, "the prompt", 10)
    assert found == [3, 0, 9] and {type(token) for token in found} == {int}


@pytest.mark.parametrize("refused", [OutOfRange("temperature", -1, "above 0"), ContextFull(9, 8)])
def test_a_refusal_can_be_sent_to_another_process(refused):
    error = pickle.loads(pickle.dumps(refused))
    assert type(error) is type(refused) and str(error) == str(refused) and error.args == refused.args
