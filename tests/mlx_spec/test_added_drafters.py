"""A drafter from outside needs one file: the one in docs/add-a-drafter.md, and ones that are broken."""

import re
import threading
from collections.abc import Callable
from inspect import unwrap
from pathlib import Path
from typing import Any

import mlx.core as mx
import pytest

from mlx_spec import Engine, Options, SpecError
from mlx_spec.arrays import Draft
from mlx_spec.candidate import Candidate
from mlx_spec.drafters import Drafter
from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.drafters.model import ModelDrafter
from mlx_spec.drafters.recycling import RecyclingDrafter
from mlx_spec.errors import BadOption
from mlx_spec.policy.costs import Costs, RoundCost
from tests.mlx_spec.architectures import nearly
from tests.mlx_spec.tiny_models import one_layer, prompt, reference, settled, text, tiny_llama, tokens

PAGE = Path(__file__).parents[2] / "docs" / "add-a-drafter.md"
CLASS, USE = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)


def example() -> Drafter:
    assert len(CLASS.splitlines()) <= 32
    names: dict = {}
    exec(CLASS, names)  # noqa: S102
    return names["Bigram"]()


@pytest.mark.parametrize("temperature", [0.0, 0.3])
def test_the_drafter_of_the_docs_works_and_changes_no_text(temperature):
    target, ids = settled(tiny_llama(0), 0, spread=0.7), prompt(6, 1)
    options = {"max_tokens": 30, "temperature": temperature, "seed": 1}
    wanted = text(Engine(target, context_limit=400), ids, **options)
    engine = Engine(target, [example()], context_limit=400)
    rounds = list(engine.generate(ids, Options(drafter="bigram", draft_length=4, **options)))
    assert tokens(rounds) == wanted
    assert sum(r.accepted for r in rounds) > (2 if temperature else 10)
    assert text(engine, ids, **options) == wanted


def test_the_drafter_of_the_docs_drafts_for_three_texts_at_once():
    target, prompts = settled(tiny_llama(0), 0, spread=0.7), [prompt(6, seed) for seed in (1, 2, 3)]
    plain, engine = Engine(target, context_limit=400), Engine(target, [example()], context_limit=400)
    options = Options(drafter="bigram", draft_length=4, max_tokens=12)
    rounds = list(engine.generate_batch(prompts, [options] * 3))
    for i, ids in enumerate(prompts):
        assert tokens([r for j, r in rounds if j == i]) == text(plain, ids, max_tokens=12)


def test_the_way_to_use_it_in_the_docs_drafts_with_it(capsys):
    exec(f"{CLASS}\n\n{USE}", {})  # noqa: S102
    assert "bigram 0" in capsys.readouterr().out


def test_names_joined_by_a_plus_let_those_drafters_take_part_and_no_other():
    target, ids = settled(tiny_llama(0), 0, spread=0.7), prompt(6, 1)
    drafters = [LookupDrafter(), example(), RecyclingDrafter()]
    engine = Engine(target, drafters, context_limit=400)
    wanted = text(engine, ids, max_tokens=60, drafter="none")
    for joined in ("lookup+bigram", "bigram+lookup"):
        rounds = list(engine.generate(ids, Options(drafter=joined, draft_length=3, max_tokens=60)))
        assert tokens(rounds) == wanted
        assert {r.drafter for r in rounds} - {"none"} == {"lookup", "bigram"}
    for wrong, named in (("lookup+eagle", "eagle"), ("auto+lookup", "auto"), ("lookup+none", "none")):
        with pytest.raises(BadOption, match=f"no drafter {named} in this pair"):
            engine.generate(ids, Options(drafter=wrong))


class Foreign(Drafter):
    """Drafts ids that the target does not have."""

    name = "foreign"

    def candidates(self, length):
        return [Candidate(self.name, kind="foreign", prior=0.5, limit=4)]

    def draft(self, context, depth, verifier):
        return Draft.chain(mx.array([[10**6, -(10**9), 5, 10**9][:depth]], mx.int32))


@pytest.mark.parametrize("rule", ["token", "block", pytest.param("coupled", marks=pytest.mark.slow)])
def test_a_broken_drafter_costs_speed_and_changes_no_text(rule):
    target, ids = one_layer(0), prompt(9, 1)
    engine, wanted = Engine(target, [Foreign()], context_limit=400), reference(target, ids, 24)
    # At so low a temperature only the likeliest token can be drawn: none of the draft's may appear.
    for temperature in (0.0, 0.0001):
        options = {"max_tokens": 24, "draft_length": 3, "verify": rule, "temperature": temperature}
        assert text(engine, ids, **options) == wanted


def ids_of(*shape: int, dtype: mx.Dtype = mx.int32) -> mx.array:
    return mx.full(shape, 7, dtype)


def without_type_checks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As for a user."""
    for made in ("__init__", "chain"):
        monkeypatch.setattr(Draft, made, unwrap(getattr(Draft, made)))


class Given(Drafter):
    """Drafts what a test gives it."""

    name, trees = "given", True

    def __init__(self, make: Callable[[int], Any], **candidate: Any):
        self._make, self._candidate = make, {"prior": 0.5, "limit": 4, **candidate}

    def candidates(self, length):
        return [Candidate(self.name, kind="given", host_text=True, **self._candidate)]

    def draft(self, context, depth, verifier):
        return self._make(depth)


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda n: None, "must give a Draft"),
        (lambda n: Draft([[7] * n], n), "must give a Draft"),  # type: ignore[arg-type]
        (lambda n: Draft.chain(mx.full((1, n), float("nan"))), "its tokens are .*float32"),
        (lambda n: Draft(ids_of(n), n), r"its tokens are .*int32 \[3\]"),
        (lambda n: Draft.chain(ids_of(2, n)), r"its tokens are .*int32 \[2, 3\]"),
        (lambda n: Draft.chain(ids_of(1, n + 3)), "its depth is 6 with 6 tokens, where at most 3"),
        (lambda n: Draft(ids_of(1, n), 0), "its depth is 0 with 3 tokens"),
        (lambda n: Draft(ids_of(1, n), n + 2, ids_of(1, n)), "its depth is 5 with 3 tokens"),
        (lambda n: Draft(ids_of(1, n), n, mx.zeros((1, n))), "its parents are .*float32"),
        (lambda n: Draft(ids_of(1, n), n, ids_of(1, 1)), r"its parents are .*int32 \[1, 1\]"),
        (lambda n: Draft(ids_of(1, n), n, [[0] * n]), "its parents are a list"),  # type: ignore[arg-type]
        (lambda n: Draft.chain(ids_of(1, n), mx.zeros((1, n, 121))), r"its probs are .*\[1, 3, 121\]"),
        (lambda n: Draft.chain(ids_of(1, n), mx.zeros((1, 1, 120))), r"its probs are .*\[1, 1, 120\]"),
        (lambda n: Draft.chain(ids_of(1, n), 0.5), "its probs are a float"),  # type: ignore[arg-type]
        (lambda n: Draft(ids_of(1, n), n, shadow=mx.zeros((1, 3))), "its shadow is .*float32"),
        (lambda n: Draft.chain(ids_of(n)), r"its tokens are .*int32 \[3\]"),
        (lambda n: Draft.chain([[7] * n]), "must give a Draft"),  # type: ignore[arg-type]
        (lambda n: Draft(ids_of(1, n), float(n)), r"its depth is 3\.0"),  # type: ignore[arg-type]
    ],
)
def test_a_draft_of_a_wrong_shape_is_refused_in_a_sentence_and_the_next_answer_is_right(
    make, why, monkeypatch
):
    without_type_checks(monkeypatch)
    target, ids = one_layer(0), prompt(9, 1)
    engine = Engine(target, [Given(make)], context_limit=400)
    with pytest.raises(SpecError, match="The drafter given is wrong: .*" + why):
        text(engine, ids, max_tokens=12, draft_length=3)
    assert text(engine, ids, max_tokens=12, drafter="none") == reference(target, ids, 12)


@pytest.mark.parametrize("names", [("",), ("auto",), ("none",), ("a+b",), ("one", "two", "one")])
def test_a_drafter_that_options_could_not_name_is_refused_in_a_sentence(names):
    drafters = [Given(Draft.none) for _ in names]
    for drafter, name in zip(drafters, names, strict=True):
        drafter.name = name
    with pytest.raises(SpecError, match=f"The drafter Given has the name '{re.escape(names[0])}'. Give each"):
        Engine(one_layer(0), drafters, context_limit=400)


def test_a_candidate_of_another_drafter_is_refused_in_a_sentence():
    target, ids = one_layer(0), prompt(9, 1)
    drafter = Given(lambda n: Draft.chain(ids_of(1, n)))
    drafter.candidates = lambda length: [Candidate("lookup", "given", prior=0.5, limit=4)]
    engine = Engine(target, [LookupDrafter(), drafter], context_limit=400)
    with pytest.raises(
        SpecError, match="The drafter given is wrong: its candidate is of the drafter 'lookup'"
    ):
        text(engine, ids, max_tokens=12, draft_length=3)
    assert text(engine, ids, max_tokens=12, drafter="none") == reference(target, ids, 12)


@pytest.mark.parametrize("found", [None, Candidate("given", "given", 0.5, 4), ["given"]])
def test_candidates_that_are_none_are_refused_in_a_sentence(found):
    drafter, ids = Given(Draft.none), prompt(9, 1)
    drafter.candidates = lambda length: found
    engine = Engine(one_layer(0), [drafter], context_limit=400)
    with pytest.raises(SpecError, match="The drafter given is wrong: .* is not a list of `Candidate`"):
        text(engine, ids, max_tokens=12)
    assert text(engine, ids, max_tokens=12, drafter="none") == reference(engine.target.model, ids, 12)


@pytest.mark.parametrize("dtype", [mx.uint8, mx.uint32, mx.int64])
def test_drafted_ids_may_be_integers_of_any_size(dtype, monkeypatch):
    without_type_checks(monkeypatch)
    drafter, ids = Given(lambda n: Draft.chain(ids_of(1, n, dtype=dtype))), prompt(9, 1)
    drafter.commit = lambda texts: None  # type: ignore[assignment]  # as one that only looks at them would
    target = one_layer(0)
    engine, wanted = Engine(target, [drafter], context_limit=400), reference(target, ids, 12)
    assert text(engine, ids, max_tokens=12, draft_length=3) == wanted


@pytest.mark.parametrize("parent", [10**9, -(10**9)])
def test_a_tree_that_hangs_on_rows_it_does_not_have_costs_speed_only(parent):
    target, ids = one_layer(0), prompt(9, 1)
    tree = Given(lambda n: Draft(ids_of(1, n), n, mx.full((1, n), parent, mx.int32)))
    wanted = reference(target, ids, 24)
    assert text(Engine(target, [tree], context_limit=400), ids, max_tokens=24, draft_length=3) == wanted


@pytest.mark.parametrize(
    ("candidate", "longest"), [({"limit": 0}, 0), ({"room": -1}, 0), ({"limit": 64, "room": 64}, 31)]
)
def test_a_candidate_of_any_limit_can_be_chosen_from(candidate, longest):
    target, ids = one_layer(0), prompt(9, 1)
    wanted, found = reference(target, ids, 80), []
    right = Given(lambda n: Draft.padded([(wanted + [0] * n)[len(found) : len(found) + n]]), **candidate)
    engine = Engine(target, [right], context_limit=400)
    by_length = {k: RoundCost(0.001 + k * 1e-6, seen=8) for k in range(1, 32)}
    engine.controller.costs = Costs(RoundCost(0.001, seen=8), {"given": by_length})
    drafted = {0}
    for read in engine.generate(ids, Options(max_tokens=80)):
        found += read.tokens
        drafted.add(len(read.drafted))
    assert found == wanted and max(drafted) == longest


def test_a_penalty_on_drafted_ids_that_do_not_exist_stays_within_the_vocabulary():
    target, ids = one_layer(0), prompt(9, 1)
    engine, options = (
        Engine(target, [Foreign()], context_limit=400),
        {"max_tokens": 24, "repetition_penalty": 1.3},
    )
    wanted = text(engine, ids, drafter="none", **options)
    assert text(engine, ids, draft_length=3, **options) == wanted


@pytest.mark.parametrize("length", [None, 4])
def test_a_draft_model_does_not_draft_beyond_its_own_context(length):
    target, ids = one_layer(0), prompt(9, 1)
    engine = Engine(target, [ModelDrafter(nearly(one_layer), context_limit=40)], context_limit=400)
    rounds = list(engine.generate(ids, Options(max_tokens=80, draft_length=length, drafter="model")))
    place, furthest = len(ids), 0
    for read in rounds:
        furthest = max(furthest, place + len(read.drafted) if read.drafted else 0)
        place += len(read.tokens)
    assert place == 89 and (furthest <= 40 and (length is None or furthest > 30))
    assert tokens(rounds) == reference(target, ids, 80)


def test_two_threads_at_once_get_a_sentence_and_the_next_answer_is_right():
    engine, ids, found = Engine(one_layer(0), context_limit=2048), prompt(9, 1), []

    def other() -> None:
        with pytest.raises(SpecError, match="Use it from one thread at a time"):
            text(engine, ids, max_tokens=5)
        found.append(True)

    def meanwhile(done: int, total: int) -> None:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()

    with pytest.raises(SpecError, match="ended by a later one"):
        list(engine.generate(prompt(700, 2), Options(), progress=meanwhile))
    assert found and text(engine, ids, max_tokens=12) == reference(engine.target.model, ids, 12)


@pytest.mark.parametrize("place", ["candidates", "draft", "observe", "commit"])
def test_a_drafter_that_writes_with_its_own_engine_gets_a_sentence_and_changes_no_text(place, monkeypatch):
    drafter = Foreign()
    engine, ids = Engine(one_layer(0), [drafter], context_limit=400), prompt(9, 1)
    usual = getattr(drafter, place)

    def with_its_engine(*given):
        monkeypatch.undo()
        with pytest.raises(SpecError, match="not in a drafter"):
            text(engine, prompt(30, 5), max_tokens=6)
        return usual(*given)

    monkeypatch.setattr(drafter, place, with_its_engine)
    rounds, found = engine.generate(ids, Options(max_tokens=20, draft_length=3)), []
    with pytest.raises(SpecError, match="ended by a later one"):
        for read in rounds:
            found += read.tokens
    wanted = reference(engine.target.model, ids, 20)
    assert found == wanted[: len(found)] and text(engine, ids, max_tokens=20) == wanted
