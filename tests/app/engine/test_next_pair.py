"""A pair that is loaded after another one."""

import gc
import weakref
from collections.abc import Callable, Iterator
from multiprocessing import Pipe
from threading import Thread

import pytest

from app.engine.process import serve
from app.engine.protocol import Load, Loaded
from models.pairs.pair import PairSpec, Source
from tests.app.scripted_engine import ScriptedSession


class HoldsItself(ScriptedSession):
    """As what is made of functions that keep their results is."""

    def __init__(self, spec: PairSpec, show: Callable[[str], object]) -> None:
        super().__init__(spec, show)
        self.itself = self


@pytest.fixture
def _never_by_chance() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


@pytest.mark.usefixtures("_never_by_chance")
def test_a_pair_is_out_of_memory_before_the_next_one_is_loaded() -> None:
    loaded: list[weakref.ref[ScriptedSession]] = []
    left: list[int] = []

    def open_pair(spec: PairSpec, show: Callable[[str], object]) -> ScriptedSession:
        left.append(sum(one() is not None for one in loaded))
        session = HoldsItself(spec, show)
        loaded.append(weakref.ref(session))
        return session

    its_requests, requests = Pipe(duplex=False)
    events, its_events = Pipe(duplex=False)
    with its_requests, events, its_events:
        serving = Thread(target=serve, args=(its_requests, its_events, open_pair))
        serving.start()
        with requests:
            for name in ("one", "other"):
                requests.send(Load(PairSpec(name, Source("/target"), None)))
                assert isinstance(events.recv(), Loaded)
        serving.join()
    assert left == [0, 0]
