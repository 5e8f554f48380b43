"""Whether two tokenizers encode text alike, judged by their tokens, never by sizes of vocabularies.

A drafted id must mean the same text to both, else the draft has to be translated (`translation.py`). Fatal
differences: an ordinary token's string, the ids of a text, the end token, or a token of the chat templates
that only one side has (Qwen3's <think> for a Qwen2.5 draft). Other added tokens (reserved or unused ones) may
differ and are only noted: when drafted they are never accepted, so they cannot change the text.
"""

from collections.abc import Iterator
from filecmp import cmp
from os.path import commonprefix
from pathlib import Path
from traceback import extract_tb
from typing import Any

from models.errors import BadChoice, BrokenFiles, ModelsError, reason_of
from models.pairs.folder import read_json

PROBES = (
    "The quick brown fox jumps over the lazy dog. Don't panic, it's only 42!",
    "Größe, naïve café, œuvre, Łódź, ñandú, İstanbul, Þórr",
    "Съешь же ещё этих мягких французских булок, да выпей чаю. Ξεσκεπάζω την ψυχοφθόρα βδελυγμία.",
    "敏捷的棕色狐狸跳过了懒狗。いろはにほへと、ちりぬるを。다람쥐 헌 쳇바퀴에 타고파.",
    "نص حكيم له سر قاطع وذو شأن עטלף אבק נס דרך מזגן हिन्दी में कुछ पाठ ข้อความภาษาไทย",
    "0 1 12 123 1234 12345678 3.14159 1,000,000 0x7fff 1e-9 2026-11-20 ½ ² ٣ 四",
    "def f(x: int) -> list[int]:\n    return [x ** 2 for _ in range(10)]  # squares\n",
    '#include <stdio.h>\nint main(void) {\n\tprintf("%d\\n", a[i]++ != b->c);\n\treturn 0;\n}\n',
    "  two\n\n\nlines   and\ttabs \r\n trailing   \n        eight\n                sixteen ",
    "😀 👩‍👩‍👧‍👦 🇪🇺 👍🏽 e\u0301 \u200b\u00a0\ufeff ﬁ Ａ１",
    "<html><body class='x'>&amp; https://example.org/a?b=c#d user@example.org $x_1^2$ {\"k\": null}",
    "CamelCaseIdentifier snake_case_identifier SCREAMING kebab-case I'LL we've ''quoted'' --- ... !!!???",
)
_PROBED_TOKENS = 6000
_CHUNK = 40
_WHAT_IDS_MEAN = ("added_tokens_decoder", "tokenizer_class", "add_prefix_space", "auto_map")


def settings(folder: Path) -> dict[str, Any]:
    """How transformers reads a folder's tokenizer: without network and code, without a limit of its own
    (config.json has one), and where its files have no chat template, with that of an older file. ValueError
    for one that is no text."""
    given: dict[str, Any] = {"trust_remote_code": False, "local_files_only": True, "model_max_length": None}
    own, older = (read_json(folder / name) or {} for name in ("tokenizer_config.json", "chat_template.json"))
    if not isinstance(own.get("chat_template"), str | list | dict | None):
        raise ValueError(f"its chat template is {own['chat_template']!r}, which is not a text")
    if "chat_template" in older and not own.get("chat_template"):
        if not (folder / "chat_template.jinja").exists():
            given["chat_template"] = older["chat_template"]
    return given


def read_tokenizer(folder: Path) -> Any:
    """Hugging Face's tokenizer, without network and without running the repository's code.

    Raises BrokenFiles or BadChoice.
    """
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(folder, **settings(folder))
    except Exception as error:
        raise tokenizer_trouble(folder, error) from error


def tokenizer_trouble(folder: Path, error: Exception) -> ModelsError:
    """A tokenizer's error as a message for the user: transformers does not wrap its parsers' errors."""
    files = [Path(frame.filename).name for frame in extract_tb(error.__traceback__)]
    in_config = any(name.startswith("configuration_") for name in files)  # transformers reads config.json too
    what = "config.json" if in_config else "The tokenizer"
    if "trust_remote_code" in str(error):
        return BadChoice(
            f"The tokenizer in {folder} needs its own Python code; "
            "code from model repositories is never executed here."
        )
    return BrokenFiles(f"{what} in {folder} cannot be read ({reason_of(error)}).")


def check_folders(target: Path, draft: Path) -> None:
    """Raise BadChoice, naming what differs, if the tokenizers of two folders encode text differently."""
    if same_files(target, draft):
        return
    if fatal := differences(read_tokenizer(target), read_tokenizer(draft))[0]:
        raise BadChoice(
            f"Target and draft read text differently: {fatal}. Choose a draft of the target's own family."
        )


def differences(target: Any, draft: Any) -> tuple[str, tuple[str, ...]]:
    """The fatal differences as a text, empty if there are none; and notes on harmless ones."""
    tokens = list(_token_differences(target, draft))
    fatal = [what for what, is_fatal in tokens if is_fatal] or list(_text_differences(target, draft))
    if fatal:
        return "; ".join(fatal[:2]) + (f" (and {len(fatal) - 2} more)" if len(fatal) > 2 else ""), ()
    if not tokens:
        return "", ()
    return "", (f"{len(tokens)} unused tokens differ and will not be drafted well: {tokens[0][0]}.",)


def _token_differences(target: Any, draft: Any) -> Iterator[tuple[str, bool]]:
    """The ids that differ between the two, in order, and whether each difference is fatal."""
    ours, theirs = ({i: name for name, i in side.get_vocab().items()} for side in (target, draft))
    added = [set(side.get_added_vocab().values()) for side in (target, draft)]
    templates = f"{target.chat_template}\n{draft.chat_template}"
    for token in sorted(ours.keys() | theirs.keys()):
        names = ours.get(token), theirs.get(token)
        if names[0] == names[1]:
            continue
        ordinary = any(name and token not in side for name, side in zip(names, added, strict=True))
        in_template = any(name and name.strip() and name in templates for name in names)
        ours_is, theirs_is = ("unknown" if name is None else f"'{name}'" for name in names)
        what = f"id {token} is {ours_is} to the target and {theirs_is} to the draft"
        yield what, ordinary or in_template or token == target.eos_token_id


def _text_differences(target: Any, draft: Any) -> Iterator[str]:
    """Texts with different ids: of the probes, and of texts made from the target's tokens."""
    for text in (*PROBES, *_vocabulary_texts(target)):
        ours = list(target.encode(text, add_special_tokens=False))
        theirs = list(draft.encode(text, add_special_tokens=False))
        if ours != theirs:
            start = len(commonprefix([ours, theirs]))
            here = target.decode(ours[max(start - 1, 0) : start + 2])
            yield (
                f"the text {here!r} is {ours[start : start + 3]} to the target "
                f"and {theirs[start : start + 3]} to the draft"
            )


def _vocabulary_texts(tokenizer: Any) -> Iterator[str]:
    """Texts made of ordinary tokens from across the vocabulary."""
    added = set(tokenizer.get_added_vocab().values())
    ordinary = [token for token in sorted(tokenizer.get_vocab().values()) if token not in added]
    some = ordinary[:: max(1, len(ordinary) // _PROBED_TOKENS)]
    for start in range(0, len(some), _CHUNK):
        yield tokenizer.decode(some[start : start + _CHUNK])


def same_files(target: Path, draft: Path) -> bool:
    """Whether the files alone show that the tokenizers are the same; loading both would take seconds."""
    files = target / "tokenizer.json", draft / "tokenizer.json"
    if not all(file.is_file() for file in files) or not cmp(*files, shallow=False):
        return False
    ours, theirs = (read_json(folder / "tokenizer_config.json") or {} for folder in (target, draft))
    return all(ours.get(key) == theirs.get(key) for key in _WHAT_IDS_MEAN)
