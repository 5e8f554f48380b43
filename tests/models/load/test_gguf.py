"""GGUF files against the same weights in mlx-lm's format: logits, tokens, and refusals."""

from errno import ENOSPC
from itertools import product
from typing import Any

import gguf
import mlx.core as mx
import pytest
from gguf import GGMLQuantizationType as Kind
from mlx_lm.utils import load_tokenizer

from models.errors import BadChoice, BrokenFiles, MachineTrouble
from models.load import checkpoint
from models.load.checkpoint import opened
from models.load.configuration import check_architecture
from models.load.engine import load, weight_bytes
from models.load.gguf_file import GgufFile
from models.load.gguf_tokenizer import tokenizer_of
from models.load.translation import small_files
from models.pairs.folder import read_config
from models.pairs.installed import is_installed
from models.pairs.pair import Source
from models.pairs.resolve import resolve
from tests.mlx_spec.grid import grid
from tests.mlx_spec.tiny_models import text
from tests.models.load.tiny_gguf import MODELS, TOKENS, write_gguf, write_sentencepiece

IDS = mx.array([[7, 260, 31, 2, 104, 9, 256, 88, 40, 41, 3, 200]])


@pytest.mark.parametrize(
    ("architecture", "kind"),
    grid(
        MODELS,
        ("F32", "F16", "BF16", "Q8_0", "Q4_0", "Q4_1", "Q5_0", "Q5_1"),
        usual=[*product(["llama"], ("F32", "F16", "BF16")), *product(MODELS, ("Q4_1",))],
    ),
)
def test_a_gguf_gives_the_logits_of_the_weights_it_holds(architecture, kind, tmp_path):
    wanted = write_gguf(tmp_path / "model.gguf", architecture, Kind[kind])(IDS)
    with opened(tmp_path / "model.gguf") as files:
        model = files.load()[0]
        assert weight_bytes([model]) <= files.weight_bytes() < 1.2 * weight_bytes([model])
        logits = model(IDS)
    assert not files.note
    assert mx.abs(logits - wanted).max() < 1e-4 * mx.abs(wanted).max()


@pytest.mark.parametrize(
    ("architecture", "scaling"),
    [
        ("llama", {"rope_type": "llama3", "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                   "original_max_position_embeddings": 8192}),
        ("qwen3", {"rope_type": "yarn", "original_max_position_embeddings": 16}),
    ],
)  # fmt: skip
def test_the_rope_scaling_is_read_from_metadata_or_from_factors(architecture, scaling, tmp_path):
    scaling = {**scaling, "factor": 8.0}
    ids = mx.tile(IDS, (1, 20))  # far enough for low frequencies to turn
    wanted = write_gguf(tmp_path / "model.gguf", architecture, Kind.F32, scaling=scaling)(ids)
    with opened(tmp_path / "model.gguf") as files:
        logits = files.load()[0](ids)
    assert mx.abs(logits - wanted).max() < 1e-4 * mx.abs(wanted).max()


@pytest.mark.parametrize("biases", [{"attention_bias": True}, {"mlp_bias": True}])
def test_biases_of_a_llama_are_read(biases: dict[str, Any], tmp_path):
    wanted = write_gguf(tmp_path / "model.gguf", "llama", Kind.F32, **biases)(IDS)
    with opened(tmp_path / "model.gguf") as files:
        logits = files.load()[0](IDS)
    assert mx.abs(logits - wanted).max() < 1e-4 * mx.abs(wanted).max()


@pytest.mark.parametrize(("architecture", "states"), [("llama", mx.float16), ("gemma3", mx.float32)])
def test_weights_in_groups_of_32_keep_their_bits(architecture, states, tmp_path, monkeypatch):
    """The file's norms are float32, which would widen the states: those of Gemma have to be."""
    monkeypatch.setattr(checkpoint, "on_cpu", lambda: False)
    write_gguf(tmp_path / "model.gguf", architecture, Kind.Q4_1)
    packed: Any = mx.load(str(tmp_path / "model.gguf"))
    with opened(tmp_path / "model.gguf") as files:
        model: Any = files.load()[0]
        assert weight_bytes([model]) <= files.weight_bytes() < 1.1 * weight_bytes([model])
    for leaf in ("weight", "scales", "biases"):
        assert mx.array_equal(model.layers[0].mlp.up_proj[leaf], packed[f"blk.0.ffn_up.{leaf}"])
    assert model(IDS).dtype == states


def test_its_tokenizer_reads_and_writes_the_same_text(tmp_path):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.F16)
    with opened(tmp_path / "model.gguf") as files:
        tokenizer = load_tokenizer(files.folder)
    assert [TOKENS[i] for i in tokenizer.encode("hello w42<|end|>")] == ["hello", "Ġw", "4", "2", "<|end|>"]
    assert tokenizer.decode(tokenizer.encode("Größe 12\n<|start|>")) == "Größe 12\n<|start|>"
    assert tokenizer.eos_token_ids == {TOKENS.index("<|end|>")}
    chat = tokenizer.apply_chat_template([{"role": "user", "content": "hello"}], tokenize=False)
    assert chat == "<|start|>hello<|end|>"


def test_its_tokenizer_alone_is_read_without_the_weights(tmp_path, monkeypatch):
    write_gguf(tmp_path / "model.gguf", "qwen3", Kind.F16)
    monkeypatch.setattr(GgufFile, "tensor", lambda *_: pytest.fail("gigabytes are read"))
    with small_files(tmp_path / "model.gguf") as folder:
        check_architecture(read_config(folder), "it")
        assert load_tokenizer(folder).encode("hello") == [TOKENS.index("hello")]
    assert not folder.exists()


def test_a_model_that_memory_cannot_hold_is_refused_before_its_weights_are_read(tmp_path, monkeypatch):
    write_gguf(tmp_path / "model.gguf", "llama", Kind.Q8_0)
    monkeypatch.setattr(GgufFile, "tensor", lambda *_: pytest.fail("gigabytes are read"))
    monkeypatch.setattr("models.load.engine.physical_memory", lambda: 100_000)
    with pytest.raises(MachineTrouble, match="weights need .* of memory"):
        load(resolve(target=str(tmp_path / "model.gguf"), draft="none"))


def test_a_space_is_put_before_a_text_only_if_the_file_says_so(tmp_path):
    file = tmp_path / "model.gguf"
    for leading, tokens in ((True, ["<s>", "▁a", "▁b"]), (False, ["<s>", "a", "▁b"])):
        write_sentencepiece(file, ["▁", "a", "b", "▁a", "▁b"], leading_space=leading)
        tokenizer_of(GgufFile(file)).save_pretrained(tmp_path / str(leading))
        tokenizer = load_tokenizer(tmp_path / str(leading))
        ids = tokenizer.encode("a b")
        assert tokenizer.convert_ids_to_tokens(ids) == tokens
        assert tokenizer.decode(ids, skip_special_tokens=True) == "a b"
    assert tokenizer.decode(tokenizer.encode(" a b"), skip_special_tokens=True) == " a b"


def test_a_token_is_found_whole_where_llama_cpp_finds_it_and_rows_without_one_have_none(tmp_path):
    for pre, world in (("smollm", ["Ġw", *"orld"]), ("llama-bpe", ["Ġworld"])):
        write_gguf(tmp_path / "model.gguf", "llama", Kind.F16, pre=pre)
        with opened(tmp_path / "model.gguf") as files:
            tokenizer = load_tokenizer(files.folder)
        ids = tokenizer.encode("<｜User｜>hello world")
        assert [TOKENS[i] for i in ids] == ["<｜User｜>", "hello", *world]
        assert tokenizer.decode(ids, skip_special_tokens=True) == "hello world"
        assert sorted(tokenizer.get_vocab().values()) == list(range(TOKENS.index("Ġworld") + 1))


def test_a_gguf_is_target_and_draft_of_a_pair_whose_answers_end_at_the_end_of_a_turn_or_of_a_text_too(
    tmp_path,
):
    file = tmp_path / "model.gguf"
    write_gguf(file, "llama", Kind.Q8_0)
    pair = load(resolve(target=str(file), draft=str(file)))
    assert pair.spec.name == "model" and pair.context_limit == 64
    assert {TOKENS[i] for i in pair.stop_tokens} == {"<|end|>", "<turn>", "<end_of_turn>", "<|endoftext|>"}
    plain, drafted = (
        text(pair.engine, [5, 6, 7], max_tokens=12, drafter=drafter, draft_length=3)
        for drafter in ("none", "model")
    )
    assert plain == drafted and len(plain) == 12


@pytest.mark.parametrize(
    ("given", "refusal"),
    [
        (
            {"architecture": "qwen3", "called": "qwen2"},
            r"a tensor blk\.0\.attn_\w_norm\.weight, which qwen2 has not in mlx-lm",
        ),
        ({"called": "mamba"}, "the architecture mamba; GGUF is supported for llama, qwen2, qwen3, gemma3"),
        ({"pre": "viking"}, "a tokenizer that is not supported in GGUF files: gpt2, viking"),
    ],
)
def test_what_is_not_read_is_refused_by_name(given, refusal, tmp_path):
    file = tmp_path / "model.gguf"
    write_gguf(file, **{"architecture": "llama", "kind": Kind.F16, **given})
    file.write_bytes(file.read_bytes()[:-1000])  # before its tensors are read, which may take minutes
    with pytest.raises(BadChoice, match=refusal):
        load(resolve(target=str(tmp_path / "model.gguf"), draft="none"))


def test_a_file_that_is_cut_or_has_damaged_metadata_is_refused(tmp_path):
    file = tmp_path / "model.gguf"
    write_gguf(file, "llama", Kind.F16)
    whole, cut = file.read_bytes(), "cannot be read as GGUF|is not a GGUF file"
    nameless = whole.replace(b"general.architecture", b"general.architectur3")
    headless = whole.replace(b"head_count\4\0\0\0\2", b"head_count\4\0\0\0\0")
    layers = whole.replace(b"block_count\4\0\0\0\2\0\0\0", b"block_count\4\0\0\0\3\0\0\0")
    merges = whole.replace(b"h e\3", b"h \0\3")
    narrow = whole.replace(b"feed_forward_length\4\0\0\0\x80", b"feed_forward_length\4\0\0\0\x60")
    assert whole not in (nameless, headless, layers, merges, narrow)
    for content, refusal in (
        *((whole[:kept], cut) for kept in (0, 3, 1000, -1)),
        (nameless, "has no general.architecture in its metadata"),
        (headless, "cannot be read as GGUF"),
        (narrow, "do not belong to its metadata: Expected shape"),
        (layers, "names 3 layers and has 2. Download it again"),
        (merges, "cannot be read as GGUF .Error while initializing BPE: Token .* out of vocabulary"),
    ):
        file.write_bytes(content)
        with pytest.raises(BrokenFiles, match=refusal):
            load(resolve(target=str(file), draft="none"))
    file.write_bytes(b"GGU")
    assert not is_installed(Source(str(file)))


@pytest.mark.parametrize(
    "error", [OSError(ENOSPC, "No space left on device"), Exception("No space left on device (os error 28)")]
)
def test_a_full_disk_of_temporary_files_is_no_damage_of_the_file(error, tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise error

    file = tmp_path / "model.gguf"
    write_gguf(file, "llama", Kind.F16)
    monkeypatch.setattr("transformers.PreTrainedTokenizerFast.save_pretrained", full)
    with pytest.raises(MachineTrouble, match="cannot be written to .*: the disk is full.*TMPDIR"):
        load(resolve(target=str(file), draft="none"))


@pytest.mark.parametrize(
    ("key", "value", "refusal"),
    [
        ("split.count", 3, "is one of 3 parts of a model. Join them"),
        ("llama.rope.dimension_count", 16, "rotates 16 of the 32 numbers of each head, and mlx-lm's llama"),
    ],
)
def test_a_file_whose_metadata_say_what_is_not_done_here_is_refused(
    key, value, refusal, tmp_path, monkeypatch
):
    monkeypatch.setattr(gguf.GGUFWriter, "add_file_type", lambda writer, _: writer.add_uint32(key, value))
    write_gguf(tmp_path / "model.gguf", "llama", Kind.F16)
    with pytest.raises(BadChoice, match=refusal):
        load(resolve(target=str(tmp_path / "model.gguf"), draft="none"))
