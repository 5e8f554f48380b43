"""Writes measurements and unedited greedy answers of the exported pair to docs/builtin.md.

Replaces the text between the page's two marks. The prompts are the first held-out ones of each source, not
hand-picked.
"""

import argparse
import ctypes
import math
from contextlib import suppress
from pathlib import Path

BEGIN, END = "<!-- samples: begin -->", "<!-- samples: end -->"
PER_SOURCE = {
    "speculative": 6,
    "program": 4,
    "smalltalk": 2,
    "facts": 1,
    "numbers": 2,
    "copying": 2,
    "code": 1,
    "outside": 4,
}


def chosen_prompts() -> list:
    """The first held-out conversations, `PER_SOURCE` of each source, without repeated questions."""
    from train_builtin.corpus import held_out_conversations

    left = dict(PER_SOURCE)
    seen: set[str] = set()
    found = []
    for conversation in held_out_conversations(1):
        turn = conversation.turns[0]
        if left.get(turn.source, 0) and turn.question not in seen:
            left[turn.source] -= 1
            seen.add(turn.question or "")
            found.append(conversation)
        if not any(left.values()):
            return sorted(found, key=lambda each: list(PER_SOURCE).index(each.turns[0].source))
    raise AssertionError("the conversations are endless")


def report(builtin: Path, count: int) -> str:
    """Markdown: measurements, then prompts and answers."""
    from train_builtin.measure import Acceptance, greedy_answer, load_float32, measure, prompt_ids

    by_source, loss = measure(builtin, count)
    total = sum(by_source.values(), Acceptance(0, 0, 0, 0))
    inside = sum((each for name, each in by_source.items() if name != "outside"), Acceptance(0, 0, 0, 0))
    lines = [
        f"Held-out loss of the shipped target over {count} prompts: {loss:.3f} nats per answer token "
        f"(perplexity {math.exp(loss):.2f}).",
        "",
        f"Greedy draft of 3 tokens: acceptance **{inside.rate:.1%}** in domain "
        f"({total.rate:.1%} over all prompts), {inside.tokens / inside.rounds:.2f} tokens per round.",
        "",
        "| source of the prompt | rounds | drafted | accepted | acceptance |",
        "|---|---|---|---|---|",
    ]
    for name, each in sorted(by_source.items()):
        lines.append(f"| {name} | {each.rounds} | {each.drafted} | {each.accepted} | {each.rate:.1%} |")
    lines += ["", "### Held-out prompts and the target's greedy answers", ""]
    model, tokenizer = load_float32(builtin / "target")
    for conversation in chosen_prompts():
        turn = conversation.turns[0]
        ids = greedy_answer(model, tokenizer, prompt_ids(tokenizer, conversation))
        text = tokenizer.decode([token for token in ids if token not in tokenizer.eos_token_ids])
        lines += [f"**{turn.prompt}** ({turn.source})", "", "~~~text", text, "~~~", ""]
    return "\n".join(lines)


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(prog="python -m train_builtin samples")
    parser.add_argument("--builtin", type=Path, default=Path("models/builtin"))
    parser.add_argument("--page", type=Path, default=Path("docs/builtin.md"))
    parser.add_argument("--prompts", type=int, default=200)
    options = parser.parse_args(arguments)
    with suppress(OSError):
        ctypes.CDLL("libopenblas.so.0", mode=ctypes.RTLD_GLOBAL)
    text = report(options.builtin, options.prompts)
    print(text)
    page = options.page.read_text(encoding="utf-8")
    before, after = page.split(BEGIN)[0], page.split(END)[1]
    options.page.write_text(f"{before}{BEGIN}\n{text}\n{END}{after}", encoding="utf-8")
