"""A drafter from outside needs one file: the one in docs/add-a-drafter.md, and ones that are broken."""

import re
from pathlib import Path

import mlx.core as mx
import pytest
from mlx.utils import tree_map

from mlx_spec import BadOption, Engine, Options
from mlx_spec.arrays import Draft
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.model import ModelDrafter
from tests.mlx_spec.tiny_models import nearly, one_layer, prompt, settled, tiny_llama

PAGE = Path(__file__).parents[2] / "docs" / "add-a-drafter.md"


def example() -> Drafter:
    code = re.search(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert code and len(code[1].splitlines()) <= 32
    names: dict = {}
    exec(code[1], names)  # noqa: S102
    return names["Bigram"]()


@pytest.mark.parametrize("temperature", [0.0, 0.9])
def test_the_drafter_of_the_docs_works_and_changes_no_word(temperature):
    target, ids = settled(tiny_llama(0), 0, spread=0.7), prompt(6, 1)
    options = {"max_tokens": 120, "temperature": temperature, "seed": 1}
    plain = Engine(target, context_limit=400)
    wanted = [t for r in plain.generate(ids, Options(**options)) for t in r.tokens]
    engine = Engine(target, [example()], context_limit=400)
    rounds = list(engine.generate(ids, Options(drafter="bigram", draft_length=4, **options)))
    assert [t for r in rounds for t in r.tokens] == wanted
    assert temperature or sum(r.accepted for r in rounds) > 20
    assert [t for r in engine.generate(ids, Options(**options)) for t in r.tokens] == wanted


class Foreign(Drafter):
    """Tokens that the target does not have."""

    name = "foreign"

    def candidates(self, length):
        return [Candidate(self.name, kind="foreign", prior=0.5, limit=4)]

    def draft(self, context, depth, verifier):
        return Draft.chain(mx.array([[10**6, -3, 5, 10**9][:depth]], mx.int32))


def of_nan() -> ModelDrafter:
    broken = one_layer(0)
    broken.update(tree_map(lambda x: x * mx.nan, broken.parameters()))
    return ModelDrafter(broken)


@pytest.mark.parametrize("rule", ["coupled", "token", "block"])
@pytest.mark.parametrize("make", [Foreign, of_nan])
def test_a_broken_drafter_costs_speed_and_never_a_word(make, rule):
    target, ids = one_layer(0), prompt(9, 1)
    wanted = [t for r in Engine(target, context_limit=400).generate(ids, Options()) for t in r.tokens]
    engine = Engine(target, [make()], context_limit=400)
    drafted = list(engine.generate(ids, Options(draft_length=3, verify=rule)))
    assert [t for r in drafted for t in r.tokens] == wanted[: sum(len(r.tokens) for r in drafted)] == wanted
    # A temperature so low that only the likeliest token can be drawn: none of the draft's may appear.
    cold = Options(draft_length=3, verify=rule, temperature=0.0001)
    assert [t for r in engine.generate(ids, cold) for t in r.tokens] == wanted


@pytest.mark.parametrize("length", [None, 4])
def test_a_draft_model_rests_beyond_its_own_context(length):
    target, ids = one_layer(0), prompt(9, 1)
    engine = Engine(target, [ModelDrafter(nearly(one_layer), context_limit=40)], context_limit=400)
    rounds = list(engine.generate(ids, Options(max_tokens=80, draft_length=length, drafter="model")))
    place, furthest = len(ids), 0
    for read in rounds:
        furthest = max(furthest, place + len(read.drafted) if read.drafted else 0)
        place += len(read.tokens)
    assert place == 89 and (furthest <= 40 and (length is None or furthest > 30))
    plain = Engine(target, context_limit=400)
    wanted = [t for r in plain.generate(ids, Options(max_tokens=80)) for t in r.tokens]
    assert [t for r in rounds for t in r.tokens] == wanted


def test_a_drafter_that_is_not_there_is_refused_with_the_names_of_those_that_are():
    engine = Engine(one_layer(0), [Foreign()], context_limit=100)
    with pytest.raises(BadOption, match="no drafter eagle in this pair. Use one of: auto, foreign, none"):
        engine.generate([1, 2], Options(drafter="eagle"))


def test_another_answer_begun_from_a_progress_callback_ends_the_first_and_is_right_itself():
    target, long, other = one_layer(0), prompt(1300, 1), prompt(700, 2)
    engine = Engine(target, [ModelDrafter(nearly(one_layer))], context_limit=2048)
    wanted = [t for r in Engine(target, context_limit=2048).generate(other, Options()) for t in r.tokens]
    found: list[int] = []

    def meanwhile(done: int, total: int) -> None:
        if not found:
            found.extend(t for r in engine.generate(other, Options(draft_length=3)) for t in r.tokens)

    with pytest.raises(Exception, match="ended by a later one"):
        list(engine.generate(long, Options(), progress=meanwhile))
    assert found == wanted
    again = [t for r in engine.generate(other, Options(draft_length=3)) for t in r.tokens]
    assert again == wanted
