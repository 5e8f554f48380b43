"""What judging a batch computes."""

import io

import mlx.core as mx
import pytest

from mlx_spec import Options
from mlx_spec.arrays import Draft, Length
from mlx_spec.verify import batch
from mlx_spec.verify.batch import BatchVerifier
from mlx_spec.verify.verifiers import Verifier

VOCAB = 32


def gathers(texts: int) -> int:
    """Operations that copy rows by an index, while a greedy chain of three tokens is judged."""
    ids, logits = mx.zeros((texts, 8), mx.int32), mx.random.normal((texts, 4, VOCAB))
    draft, verifiers = Draft.chain(mx.zeros((texts, 3), mx.int32)), [Verifier(Options(), VOCAB)] * texts
    mx.eval(ids, logits, draft.tokens)
    verdict = BatchVerifier(verifiers, ids, Length.exact(8), 3).judge(draft, None, logits)
    graph = io.StringIO()
    mx.export_to_dot(graph, verdict.accepted, verdict.tokens)
    return graph.getvalue().count("Gather")


@pytest.mark.parametrize("texts", [1, 3])
def test_judging_copies_no_row_of_logits(texts: int) -> None:
    assert not gathers(texts)


def test_mutant_that_takes_each_text_by_its_index_copies_its_logits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(batch, "entry", lambda x, i: x[i])
    assert gathers(3) == 3
