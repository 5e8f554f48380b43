"""How a request overrides the server's options, without a server."""

from dataclasses import replace

from app.server.sampling import MOST_TOKENS, Draft, Sampling
from mlx_spec.types import Options


def test_a_request_overrides_the_options_that_it_names_and_has_a_seed_of_its_own() -> None:
    defaults = Options(draft_length=3, top_p=0.5, min_p=0.1, repetition_context=9, verify="block")
    given = {"temperature": 0.7, "top_p": 0.9, "top_k": 5, "repetition_penalty": 1.1, "seed": 7}
    asked = Sampling(**given, draft=Draft(length="auto", drafter="lookup"))
    wanted = replace(defaults, **given, draft_length=None, drafter="lookup", max_tokens=MOST_TOKENS)
    assert asked.options(defaults, None) == wanted
    bare = [Sampling().options(defaults, 10**30) for _ in range(2)]
    assert bare[0].seed != bare[1].seed
    assert {replace(each, seed=0) for each in bare} == {replace(defaults, max_tokens=10**30)}
