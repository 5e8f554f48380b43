"""Commands as `mlx.launch` starts them: a process per Mac, here all on this machine."""

import os
import signal
from pathlib import Path

import httpx2
import pytest

from app.cli import main
from tests.app.run_command import Cli
from tests.app.tiny_pair import TinyPair, write_tiny_pair
from tests.models.tiny_models import make_model
from tests.on_ranks import ends, start_ranks

LONG = ["--prompt", "hello", "--raw", "--max-tokens", "3000", "--draft-length", "2"]


def on_two(folder: Path, *arguments: str, others: list[str] | None = None) -> list[tuple[int, str, str]]:
    return ends(start_ranks(2, ["app", *arguments], folder, others and ["app", *others]))


@pytest.mark.slow
@pytest.mark.parametrize("temperature", ["0", "0.8"])
def test_two_ranks_print_one_answer_the_same_as_alone(
    temperature: str, tiny_pair: TinyPair, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    line = ["generate", *tiny_pair.arguments, "--prompt", "hello", "--raw", "--max-tokens", "20"]
    line += ["--seed", "3", "--temperature", temperature, "--draft-length"]
    (code, out, err), other = on_two(tmp_path, *line, "3")
    assert (code, other) == (0, (0, "", "")), err
    assert "20 tokens" in err
    main([*line, "0"])
    assert capsys.readouterr().out == out


def test_another_rank_tells_an_errors_type_and_place_not_its_text_which_may_quote_rank_0s_prompt(
    monkeypatch: pytest.MonkeyPatch, run: Cli
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("secret words")

    monkeypatch.setenv("MLX_RANK", "1")
    monkeypatch.setattr("app.commands.arguments.load", fail)
    err = run("generate builtin", code=3).err
    assert err.startswith("Rank 1: Something failed inside: ValueError at test_several_macs.py:")
    assert "secret" not in err


@pytest.mark.slow
def test_a_rank_with_another_model_is_refused_in_a_sentence(tiny_pair: TinyPair, tmp_path: Path) -> None:
    other = write_tiny_pair(tmp_path)
    make_model(other.target, seed=9)
    line = ["generate", "--prompt", "hello"]
    first, second = on_two(tmp_path, *line, *tiny_pair.arguments, others=[*line, *other.arguments])
    sentence = "Rank 1 has other files of the target than rank 0. All Macs need the same."
    assert (first[0], second[0]) == (3, 3)
    assert sentence in first[2]
    assert f"Rank 1: {sentence}" in second[2]
    assert "Traceback" not in first[2] + second[2]


@pytest.mark.slow
def test_where_rank_0_is_killed_the_other_ends_in_a_sentence(tiny_pair: TinyPair, tmp_path: Path) -> None:
    """`tests/mlx_spec/test_shared.py` kills rank 1."""
    ranks = start_ranks(2, ["app", "generate", *tiny_pair.arguments, *LONG], tmp_path)
    assert ranks[0].stdout is not None
    assert os.read(ranks[0].stdout.fileno(), 1)
    ranks[0].kill()
    code, _, err = ends(ranks)[1]
    assert code == 3
    assert "Start all of them again." in err
    assert err.count("Rank 1: ") == 1
    assert "Traceback" not in err


@pytest.mark.slow
def test_ctrl_c_ends_the_answer_on_all_ranks(tiny_pair: TinyPair, tmp_path: Path) -> None:
    ranks = start_ranks(2, ["app", "generate", *tiny_pair.arguments, *LONG], tmp_path)
    assert ranks[0].stdout is not None
    assert os.read(ranks[0].stdout.fileno(), 1)
    for rank in ranks:  # as a terminal does
        rank.send_signal(signal.SIGINT)
    first, second = ends(ranks)
    assert first[0] == 130
    assert "The answer is not complete." in first[2]
    assert second == (0, "", "")


@pytest.mark.slow
def test_four_ranks_measure_drafting(tmp_path: Path, one_prompt: Path) -> None:
    pair = TinyPair(tmp_path / "target", write_tiny_pair(tmp_path).draft)
    make_model(pair.target, num_attention_heads=4, num_key_value_heads=4, max_position_embeddings=4096)
    line = ["app", "bench", *pair.arguments, "--prompts", str(one_prompt), "--max-tokens", "12"]
    line += ["--repeats", "1", "--draft-length", "2"]
    first, *others = ends(start_ranks(4, line, tmp_path))
    assert first[0] in (0, 1), first[2]
    assert "identical" in first[1]
    assert others == [(0, "", "")] * 3


@pytest.mark.slow
def test_requests_to_rank_0_are_answered_by_both(tiny_pair: TinyPair, tmp_path: Path) -> None:
    line = ["app", "serve", *tiny_pair.arguments, "--port", "0", "--draft-length", "2"]
    ranks = start_ranks(2, line, tmp_path)
    try:
        assert ranks[0].stdout is not None
        address = ranks[0].stdout.readline().split()[3]
        asked = {"prompt": "hello", "max_tokens": 12, "seed": 3, "temperature": 0.8}
        texts = []
        for draft in ({}, {"draft": {"drafter": "none"}}):
            answer = httpx2.post(f"{address}/completions", json={**asked, **draft}, timeout=60)
            texts.append(answer.raise_for_status().json()["choices"][0]["text"])
    finally:
        ranks[0].send_signal(signal.SIGINT)
        first, second = ends(ranks)
    assert first[0] == 0
    assert second == (0, "", "")
    assert texts[0] == texts[1] != ""
