"""The pair for tests of downloads."""

from pathlib import Path

from app.cli import main
from mlx_spec import Options
from models.hub.download import Progress, pull
from models.load.engine import load
from models.pairs.pair import PairSpec, Source
from tests.mlx_spec.tiny_models import tokens
from tests.models.tiny_models import files_of, make_model

SPEC = PairSpec("tiny", Source("org/target"), Source("org/draft"))


def last(spec: PairSpec = SPEC) -> Progress:
    *_, progress = pull(spec)
    return progress


def widened(files: dict[str, bytes], folder: Path) -> dict[str, bytes]:
    """The same model with a vocabulary so large that its weights take a while to download."""
    return files | files_of(make_model(folder, vocab_size=60_000))


def check_drafts(spec: PairSpec, name: str) -> None:
    """The pair's drafter is in the place of a draft model, drafts under this name and changes no word."""
    engine = load(spec).engine
    assert name in engine.drafter_names and "model" not in engine.drafter_names
    plain, drafted = (
        list(engine.generate([1, 2, 3], Options(max_tokens=8, drafter=drafter, draft_length=3)))
        for drafter in ("none", name)
    )
    assert tokens(drafted) == tokens(plain) and name in {read.drafter for read in drafted}


def check(folder: Path, *arguments: str) -> int:
    """The exit code of `mlx-spec check` on org/target with these arguments, on one short prompt."""
    prompts = folder / "prompts.jsonl"
    prompts.write_text('{"id": "a", "category": "one", "prompt": "abcd abcd"}\n')
    given = ["--target", "org/target", "--prompts", str(prompts), "--max-tokens", "8"]
    return main(["check", *given, *arguments])
