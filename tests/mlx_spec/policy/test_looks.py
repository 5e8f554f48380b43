"""The engine's own rounds are steady where the policy's looks rely on it."""

from mlx_spec import Options
from mlx_spec.policy.controller import Controller
from mlx_spec.policy.costs import Costs, RoundCost
from tests.mlx_spec.tiny_models import engine_of, prompt, tiny_llama


def test_a_look_in_the_engine_corrects_a_cost_believed_far_too_high():
    """A draft is believed to take seconds: the target drafts for itself, in milliseconds."""
    engine = engine_of(tiny_llama(1), tiny_llama(1), context_limit=512)
    dear = {k: RoundCost(5.0) for k in range(1, 4)}
    engine.controller = Controller(Costs(RoundCost(0.005), {"model": dear}))
    options = Options(max_tokens=200, drafter="auto")
    assert list(engine.generate(prompt(9, 1), options))
    assert engine.controller.costs.of("model", 1) < 0.5
