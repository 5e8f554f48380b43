"""The checks between ranks before loading, and the models they can split."""

from collections.abc import Sequence
from pathlib import Path

import mlx.core as mx
import mlx.nn as nn
import pytest

from mlx_spec.drafters.lookup import LookupDrafter
from mlx_spec.ranks import Ranks
from models.errors import BadChoice, MachineTrouble
from models.load import ranks as several
from models.load.checkpoint import Checkpoint
from models.load.ranks import check_drafters, check_same, join, split
from models.pairs.pair import PairSpec, Source
from tests.models.tiny_models import make_model, make_pair


class Second(Ranks):
    """Rank 1 of two. Rank 0's values are those that were exchanged at the same call before."""

    def __init__(self, before: list[list[int]]) -> None:
        super().__init__(mx.distributed.init())
        self.sent: list[list[int]] = []
        self._before = before
        self.size = 2

    def exchange(self, words: Sequence[int] = (), *, watched: bool = True) -> list[list[int]]:
        self.sent.append(list(words))
        return [self._before[len(self.sent) - 1] if self._before else list(words), list(words)]


def spec_of(target: Path, draft: Path, **more: object) -> PairSpec:
    return PairSpec("pair", Source(str(target)), Source(str(draft)), **more)  # type: ignore[arg-type]


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    return make_pair(tmp_path)


def compared(pair: tuple[Path, Path], before: list[list[int]], **more: object) -> list[list[int]]:
    ranks = Second(before)
    check_same(ranks, spec_of(*pair, **more), pair)
    return ranks.sent


def test_a_rank_with_the_same_is_taken(pair: tuple[Path, Path]) -> None:
    assert compared(pair, compared(pair, []))


def test_a_rank_with_another_version_is_refused(
    pair: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    before = compared(pair, [])
    monkeypatch.setattr(several, "version", lambda package: "99.0" if package == "mlx" else "1")
    with pytest.raises(
        MachineTrouble, match="Rank 1 has other versions of mlx-spec, mlx or mlx-lm than rank 0"
    ):
        compared(pair, before)


@pytest.mark.parametrize(("which", "what"), [(0, "the target"), (1, "what drafts")])
def test_a_rank_with_other_weights_of_the_same_shape_is_refused(
    pair: tuple[Path, Path], which: int, what: str
) -> None:
    before = compared(pair, [])
    weights = pair[which] / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x01")
    with pytest.raises(MachineTrouble, match=f"Rank 1 has other files of {what} than rank 0"):
        compared(pair, before)


def test_a_rank_with_other_flags_is_refused(pair: tuple[Path, Path]) -> None:
    with pytest.raises(MachineTrouble, match="Rank 1 has other flags"):
        compared(pair, compared(pair, []), draft_head=64)


def test_a_rank_that_lacks_a_drafter_is_refused() -> None:
    first = Second([])
    check_drafters(first, [LookupDrafter()])
    with pytest.raises(MachineTrouble, match="Rank 1 has other drafters in memory"):
        check_drafters(Second(first.sent), [])


def test_documents_are_refused_for_each_mac_has_its_own(pair: tuple[Path, Path]) -> None:
    with pytest.raises(BadChoice, match="--documents works on one Mac only"):
        compared(pair, [], documents=("/notes",))


def test_heads_that_cannot_be_shared_evenly_are_refused_before_weights_are_read(tmp_path: Path) -> None:
    folder = make_model(tmp_path / "model", num_attention_heads=6, hidden_size=48, num_key_value_heads=3)
    with pytest.raises(BadChoice, match="are in 3 groups, which 2 Macs cannot share evenly"):
        Checkpoint(folder, folder).load(ranks=Second([]))


def test_a_model_that_mlx_lm_cannot_split_is_refused() -> None:
    with pytest.raises(BadChoice, match="mlx-lm cannot split a model of type gemma3"):
        split(nn.Linear(2, 2), {"model_type": "gemma3"}, Second([]), Path("model"))


def test_a_process_alone_has_no_ranks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MLX_RANK", raising=False)
    assert join() is None


def test_ranks_that_cannot_meet_are_a_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (hosts := tmp_path / "hosts.json").write_text("")
    monkeypatch.setenv("MLX_RANK", "0")
    monkeypatch.setenv("MLX_HOSTFILE", str(hosts))
    with pytest.raises(MachineTrouble, match="The other Macs cannot be reached"):
        join()
