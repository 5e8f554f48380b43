"""The pace of a download, by a clock of our own."""

from models.hub.progress import ModelProgress, Pace, Progress


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


def test_the_rate_is_that_of_the_last_seconds() -> None:
    clock = Clock()
    pace = Pace(clock)
    for second in range(1, 21):
        clock.seconds = second
        pace.add(100 * second if second < 6 else 500 + 10 * (second - 5))

    assert pace.rate() == 10
    left = Progress("weights", (ModelProgress("org/a", 650, 1000),), bytes_per_second=pace.rate())
    assert left.seconds_left == 35


def test_the_time_before_the_first_byte_does_not_count_as_slow() -> None:
    clock = Clock()
    pace = Pace(clock)
    for second in range(1, 9):
        clock.seconds = second
        pace.add(0)
    clock.seconds = 9
    pace.add(100)
    assert pace.rate() == 100


def test_a_download_stalls_when_no_byte_comes_for_five_seconds() -> None:
    clock = Clock()
    pace = Pace(clock)
    clock.seconds = 4
    pace.add(100)
    clock.seconds = 8.9
    pace.add(100)
    assert not pace.stalled_seconds()
    clock.seconds = 9.5
    assert pace.stalled_seconds() == 5.5
    pace.add(101)
    assert not pace.stalled_seconds()


def test_100_percent_is_said_only_when_all_is_checked() -> None:
    models = (ModelProgress("org/a", 70, 70), ModelProgress("org/b", 30, 30))

    assert Progress("checking", models).fraction < 1
    assert Progress("done", models).fraction == 1
    assert Progress("asking", (ModelProgress("org/a", 0, 0),)).fraction == 0
    assert Progress("weights", (models[0], ModelProgress("org/b", 5, 30))).fraction == 0.75
