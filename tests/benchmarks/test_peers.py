"""`make bench-peers` gives all sides the same prompts in turn, and computes ratios correctly."""

import itertools
import json
import random
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from app.shell.errors import BadInput
from benchmarks.peers.answering import Answer, Ask
from benchmarks.peers.checkpoint import write_float32
from benchmarks.peers.long_chat import long_chat
from benchmarks.peers.measure import Encoded, Measurement
from benchmarks.peers.mlx_lm_side import MlxLmSide
from benchmarks.peers.ours import OurSide
from benchmarks.peers.process import SideFailed, SideProcess
from benchmarks.peers.prompts import groups, read_prompts
from benchmarks.peers.ratios import Ratio, best, ratios, speeds, worst
from benchmarks.peers.readme import tables
from benchmarks.peers.records import Record, Records
from benchmarks.peers.sides import Side
from models.pairs.catalogue import find
from tests.app.tiny_pair import TinyPair
from tests.benchmarks.echo_side import Echo
from train_builtin.corpus import is_held_out
from train_builtin.texts import repeat_text


def record(side: str, tokens: int, seconds: float, repeat: int = 0, category: str = "chat", **changes: Any):
    fields: dict[str, Any] = {
        "phase": "compare", "repeat": repeat, "temperature": 0.0, "prompt": f"{category} 1",
        "category": category, "side": side, "way": "auto", "length": None,
        "answer": Answer(tuple(range(tokens)), seconds, seconds / 10, 1, tokens),
    }  # fmt: skip
    return Record(**{**fields, **changes})


def only(found: Sequence[Ratio], ours: str, peer: str, group: str) -> Ratio:
    (row,) = (r for r in found if (r.ours, r.peer, r.group) == (ours, peer, group))
    return row


def test_a_side_works_in_its_own_process_and_its_errors_arrive_in_words() -> None:
    with SideProcess("echo", Echo, "ha") as side:
        assert side.call("say", 3) == "hahaha"
        with pytest.raises(SideFailed, match="echo: RuntimeError: no weights"):
            side.call("fail")
        assert side.call("say", 1) == "ha"
        with pytest.raises(SideFailed, match="ended \\(exit code 7\\)"):
            side.call("die")
    with pytest.raises(SideFailed, match="nothing to say"):
        SideProcess("echo", Echo, "")


def test_a_ratio_is_the_median_of_ratios_within_repeats() -> None:
    slow_machine = [1.0, 2.0, 10.0]
    found = ratios(
        [
            *(record("mlx-lm plain", 100, 1.0 * slow, r) for r, slow in enumerate(slow_machine)),
            *(record("ours auto", 100, 0.5 * slow, r) for r, slow in enumerate(slow_machine[:2])),
            record("ours auto", 100, 10.0, 2),
        ],
        groups(["chat"]),
    )
    row = only(found, "ours auto", "mlx-lm plain", "chat")
    assert (row.ratio, row.spread, row.holds) == (2.0, (1.0, 2.0), True)


def test_a_group_adds_tokens_and_time_up_and_needs_all_its_categories() -> None:
    records = [
        record("mlx-lm plain", 100, 1.0), record("mlx-lm plain", 10, 1.0, category="code"),
        record("ours auto", 100, 0.5), record("ours auto", 10, 1.5, category="code"),
        record("ours auto, other draft", 100, 2.0),
    ]  # fmt: skip
    found = ratios(records, groups(["chat", "code"]))
    assert only(found, "ours auto", "mlx-lm plain", "in domain").ratio == pytest.approx(1.0)
    lowest = worst(found, ["chat", "code"])
    assert lowest is not None and (lowest.group, lowest.ratio) == ("code", pytest.approx(2 / 3))
    other = [row.group for row in found if row.ours == "ours auto, other draft"]
    assert other == ["chat"]
    assert {s.group for s in speeds(records, groups(["chat", "code"])) if s.side == "ours auto"} == {
        "chat", "code", "in domain", "all",
    }  # fmt: skip


def test_the_best_length_is_the_fastest_over_all_repeats_of_its_categories() -> None:
    short, long = Side("ours 1", "p", "model", 1), Side("ours 8", "p", "model", 8)
    records = [
        record("ours 1", 10, 1.0), record("ours 1", 10, 1.0, 1),
        record("ours 8", 10, 0.5), record("ours 8", 10, 3.0, 1),
        record("ours 8", 10, 0.1, category="code"), record("ours 1", 10, 1.0, category="code"),
    ]  # fmt: skip
    assert best(records, [short, long], ["chat"], 0.0) is short
    assert best(records, [short, long], ["code"], 0.0) is long
    assert best(records, [short, long], ["chat", "code"], 0.0) is short
    assert best(records, [short, long], ["chat"], 0.8) is None


class Scripted:
    """A process that answers at once and records its requests."""

    def __init__(self, seconds: float = 0.1) -> None:
        self.asked: list[Ask] = []
        self.taught: list[tuple[int, Any]] = []
        self.seconds = seconds

    def call(self, method: str, *arguments: Any) -> Any:
        if method == "encode":
            return tuple(range(3 * len(arguments[0]))), (0,)
        if method == "decode":
            return "text"
        if method == "learned":
            return f"known after {len(self.asked)}"
        if method == "learn":
            return self.taught.append((len(self.asked), arguments[0]))
        self.asked.append(arguments[0])
        return Answer((1, 2, 3), self.seconds, 0.01, 1, 3)


SIDES = [Side(f"ours {k}", "ours", "model", k) for k in range(6)]
PROMPTS = [Encoded(f"p{i}", "chat", (1, 2), (0,)) for i in range(3)]


def test_everybody_is_asked_everything_once_in_changing_order_and_a_broken_run_goes_on(
    tmp_path: Path,
) -> None:
    file, process = tmp_path / "run" / "records.jsonl", Scripted()
    records = Records({"repeats": 2}, file)
    Measurement({"ours": process}, PROMPTS, 8, records).run("compare", lambda *_: SIDES, [0.0, 0.8], 1)
    assert len(process.asked) == len(records) == len(SIDES) * len(PROMPTS) * 2
    first, second = ([ask.length for ask in process.asked[i : i + 6]] for i in (0, 6))
    assert sorted(first) == sorted(second) == [0, 1, 2, 3, 4, 5] and first != second  # type: ignore[type-var]

    again = Records({"repeats": 2}, file)
    Measurement({"ours": process}, PROMPTS, 8, again).run("compare", lambda *_: SIDES, [0.0, 0.8], 2)
    assert len(process.asked) == 2 * len(SIDES) * len(PROMPTS) * 2
    assert again.of("compare")[0] == records.of("compare")[0]

    whole = file.read_text()
    file.write_text(whole[:-20])
    assert len(Records({"repeats": 2}, file)) == len(again) - 1, "the last one was cut"
    assert file.read_text() == whole[: whole.rindex("\n", 0, -1) + 1]
    with pytest.raises(BadInput, match="other settings"):
        Records({"repeats": 3}, file)
    file.write_text("no json")
    with pytest.raises(BadInput, match="cannot be used"):
        Records({"repeats": 2}, file)


def test_a_long_chat_is_held_twice_and_compared_turn_by_turn() -> None:
    chat, fresh = Scripted(0.21), Scripted(0.11)
    found = long_chat(chat, fresh, 4, 2)
    assert [ask.keep for ask in chat.asked] == [False, True, True, True] * 2
    timed = [ask for ask in fresh.asked if ask.way == "auto"]
    assert timed == chat.asked
    read_anew = [ask for ask in fresh.asked if ask.way == "model"]
    assert [ask.ids for ask in read_anew] == [(*ask.ids, 1, 2, 3) for ask in chat.asked[:3]] * 2
    assert not any(ask.keep for ask in read_anew)
    assert fresh.taught == [(0, "known after 0"), (7, "known after 4")], "at the beginning of each repeat"
    assert found.ratio == pytest.approx(0.5)
    assert found.context_tokens == [3, 9, 15, 21]


def test_all_engines_write_the_same_greedy_text_on_the_same_weights(
    tiny_pair: TinyPair, tmp_path: Path
) -> None:
    folders = str(tiny_pair.target), str(tiny_pair.draft)
    ours, theirs = OurSide(*folders, False), MlxLmSide(*folders)
    ids, stop = ours.encode([{"role": "user", "content": "the small model"}])

    def ask(way: str, length: int | None) -> Ask:
        return Ask(ids, stop, 24, 0.0, 0, way, length)

    plain = ours.answer(ask("none", 0))
    drafted = ours.answer(ask("model", 2))
    alone, speculative = theirs.answer(ask("plain", None)), theirs.answer(ask("speculative", 2))
    assert plain.tokens == drafted.tokens == alone.tokens == speculative.tokens
    assert plain.passes == alone.passes == len(plain.tokens)
    assert (drafted.passes, drafted.accepted) == (speculative.passes, speculative.accepted)
    assert 0 < plain.first_seconds <= plain.seconds
    assert ours.difference(ask("none", 0), plain.tokens, drafted.tokens) is None

    written = Path(write_float32(tiny_pair.target, str(tmp_path), "target"))
    assert "quantization" not in json.loads((written / "config.json").read_text())
    import mlx.core as mx
    from mlx_lm.utils import load_model

    again, _ = load_model(written)
    tokens = mx.array([list(ids)])
    assert mx.allclose(again(tokens), ours.pair.engine.target.model(tokens), atol=1e-5)


def test_without_a_target_the_built_in_pair_is_measured_whatever_else_is_installed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("models.pairs.resolve.default_pair", lambda: find("smollm2-135m"))
    assert OurSide(None, None, False).pair.spec.name == "builtin"


def test_texts_to_repeat_were_drawn_not_chosen() -> None:
    """The first held-out tasks of the corpus, in the order of a seed."""
    rng = random.Random("peers")
    drawn = (repeat_text(rng)[0] for _ in itertools.count())
    first = list(itertools.islice(filter(is_held_out, drawn), 6))
    prompts = [p.messages[0]["content"] for p in read_prompts() if p.category == "repeating"]
    assert prompts == first


def test_the_prompts_cover_the_categories_and_the_readme_table_shows_what_lost() -> None:
    prompts = read_prompts()
    assert len({prompt.id for prompt in prompts}) == len(prompts)
    categories = list(dict.fromkeys(prompt.category for prompt in prompts))
    assert categories == ["chat", "copying", "repeating", "editing", "code", "out of domain"]
    assert len(read_prompts(per_category=1)) == len(categories)
    rows = [
        {
            "ours": "ours auto", "peer": "mlx-lm plain", "group": group, "temperature": 0.0,
            "ratio": ratio, "spread": (ratio, ratio), "holds": ratio > 1, "wanted": 1.0,
        }
        for group, ratio in (("chat", 2.0), ("code", 0.5))
    ]  # fmt: skip
    facts = {
        "versions": {"mlx": "1", "mlx-lm": "2"}, "command": "c", "device": "d", "blas": "b",
        "date": "2026-01-01T", "prompts": 2, "repeats": 5, "max_tokens": 9,
    }  # fmt: skip
    text = "\n".join(tables({"rows": rows, **facts}))
    assert "| 2.00 (2.00 to 2.00) | **0.50 (0.50 to 0.50)** |" in text
