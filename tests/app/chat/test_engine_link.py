"""The link to the engine, with events in an order that is given."""

from typing import Any

from app.chat.engine_link import EngineLink, PairLoading
from app.engine.events import PairInfo
from app.engine.protocol import Load, Loaded, LoadFailed, SkipTuning, Tuning, TuningEnded
from models.pairs.catalogue import find


class Client:
    """An engine that loads when told to."""

    alive = True

    def __init__(self) -> None:
        self.sent: list[Any] = []
        self.events: list[Any] = []

    def start(self) -> None:
        pass

    def send(self, message: Any) -> None:
        self.sent.append(message)

    def poll(self) -> list[Any]:
        events, self.events = self.events, []
        return events


def loaded(name: str) -> Loaded:
    return Loaded(PairInfo(name, 4096, "test", 1))


def test_measuring_is_over_for_the_person_who_skips_it_and_the_next_stop_stops_the_answer() -> None:
    client: Any = Client()
    link = EngineLink(client, find("builtin").spec)
    client.events = [loaded("builtin"), Tuning(1, 47)]
    link.pump()
    assert link.tuning == Tuning(1, 47)
    link.skip_tuning()
    link.skip_tuning()
    assert link.tuning is None and client.sent == [SkipTuning()]


def test_what_was_measured_with_the_pair_before_is_not_told_of_the_one_that_loads() -> None:
    client: Any = Client()
    link = EngineLink(client, find("builtin").spec)
    client.events = [loaded("builtin"), Tuning(1, 47)]
    link.pump()
    told: list[Any] = []
    link.listener = told.append
    link.use(find("smollm2-135m").spec)
    assert link.tuning is None
    client.events = [Tuning(2, 47), TuningEnded(skipped=True), loaded("smollm2-135m"), Tuning(1, 43)]
    link.pump()
    assert told == [PairLoading(), loaded("smollm2-135m"), Tuning(1, 43)]


def test_of_two_pairs_that_load_only_the_last_one_counts() -> None:
    first, second = find("builtin").spec, find("smollm2-135m").spec
    for end in (loaded("builtin"), LoadFailed("it is broken")):
        client: Any = Client()
        link = EngineLink(client, first)
        link.start()
        link.use(second)
        assert [message.pair.name for message in client.sent if isinstance(message, Load)] == [
            "builtin",
            "smollm2-135m",
        ]
        client.events = [end]
        link.pump()
        assert (link.state, link.info) == ("loading", None)
        client.events = [loaded("smollm2-135m")]
        link.pump()
        assert link.state == "ready" and link.info is not None and link.info.name == "smollm2-135m"
