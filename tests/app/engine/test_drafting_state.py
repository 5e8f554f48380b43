"""What is kept of a pair's measuring between two starts."""

from app.engine import drafting_state
from app.engine.drafting_state import TunedSession
from models import load_pair
from tests.app.tiny_pair import TinyPair


def test_a_pair_left_while_it_is_measured_is_measured_at_its_next_use_and_one_that_was_skipped_is_not(
    tiny_pair: TinyPair,
) -> None:
    pair = load_pair(target=str(tiny_pair.target), draft=str(tiny_pair.draft))
    for is_left in (True, False):
        session = TunedSession(pair)
        assert not session.is_tuned
        session.tune(
            lambda done, total: None, lambda is_left=is_left: not is_left, lambda is_left=is_left: is_left
        )
        session.save()  # as after an answer
        assert drafting_state.restore(pair) is not is_left
