"""The rate of a download, by a fake clock."""

from dataclasses import replace

from app.shell.pull_text import parts
from models.hub.progress import Pace, Progress


def test_the_rate_is_that_of_the_last_seconds_and_begins_with_the_first_byte() -> None:
    seconds = [0.0]
    pace = Pace(lambda: seconds[0])
    for seconds[0] in range(1, 9):
        pace.add(0, fetching=True)
    for seconds[0] in range(9, 31):
        pace.add(100 * min(seconds[0] - 8, 5) + 10 * max(seconds[0] - 13, 0), fetching=True)
        if seconds[0] == 11:
            assert pace.rate() == 100
        if seconds[0] == 14:
            assert pace.rate() == 510 / 6

    assert pace.rate() == 10
    left = Progress("weights", 650, (1000,), bytes_per_second=pace.rate())
    assert left.seconds_left == 35
    for unknown in ({"phase": "checking"}, {"stalled_seconds": 6.0}, {"bytes_per_second": 0.0}):
        assert replace(left, **unknown).seconds_left is None


def test_a_download_stalls_when_no_byte_comes_for_five_seconds() -> None:
    seconds = [0.0]
    pace = Pace(lambda: seconds[0])
    for seconds[0] in (4.0, 8.9):
        pace.add(100, fetching=True)
    assert not pace.stalled_seconds()
    seconds[0] = 9.5
    assert pace.stalled_seconds() == 5.5
    pace.add(101, fetching=True)
    assert not pace.stalled_seconds()
    seconds[0] = 12.0
    pace.add(50, fetching=True)  # a damaged part was deleted
    assert pace.rate() == 0


def test_while_files_are_checked_no_download_stalls_or_becomes_slower() -> None:
    seconds = [0.0]
    pace = Pace(lambda: seconds[0])
    for seconds[0], bytes_here in ((1.0, 100), (2.0, 200)):
        pace.add(bytes_here, fetching=True)
    for seconds[0] in (3.0, 9.0):
        pace.add(200, fetching=False)
    assert not pace.rate()
    for seconds[0], bytes_here in ((9.5, 200), (10.5, 300), (12.5, 500)):
        pace.add(bytes_here, fetching=True)
        assert not pace.stalled_seconds()
    assert pace.rate() == 100


def test_no_rate_and_no_time_left_is_told_of_the_first_bytes_after_a_wait_for_connections() -> None:
    seconds = [0.0]
    pace, told = Pace(lambda: seconds[0]), list[tuple[float, float]]()
    pace.add(1_000, fetching=False)
    for tenth in range(1, 100):
        seconds[0] = tenth / 10
        pace.add(1_000 + 1_000_000 * max(tenth - 40, 0), fetching=True)
        if rate := pace.rate():
            told.append((seconds[0], rate))
    assert told[0][0] == 7.0
    assert all(abs(rate - 10_000_000) < 1 for _, rate in told)


def test_the_end_is_reached_only_when_all_is_checked() -> None:
    assert parts(Progress("checking", 100, (70, 30)))[1] == "99%"
    assert Progress("done", 100, (70, 30)).fraction == 1
    assert Progress("asking", 0, (0,)).fraction == 0
    assert Progress("weights", 75, (70, 30)).fraction == 0.75
