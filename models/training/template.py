"""A model's chat template in token ids, from which it writes its own chats."""

from mlx_lm.tokenizer_utils import TokenizerWrapper

from mlx_spec.training.own_text import Template
from models.errors import BadChoice, reason_of

WORDS = "Zebra"
"""A placeholder for the question, to find the template's text around it."""
INSTEAD = "Give it --texts FOLDER, which all kinds but layer_skip take."
OPENINGS = ("", "", "", "", "Write a", "Write a Python function", "Summarize the following text:\n",
            "Translate the following German sentence into English:", "Translate to French:", "Solve:",
            "What is", "Who", "How do I", "Why", "Explain", "Compare", "Rewrite this paragraph:\n",
            "Fix the bug in this code:\n```python\n", "List", "Edit:", "Here is an article.\n\n",
            "Based on the following passages, answer the question.\n\n")  # fmt: skip
"""First words of a question; the target writes the rest. Half of all questions it writes entirely."""
TASKS = ("Summarize this text:\n\n", "Summarize in one sentence:\n\n", "Rewrite this in simple words:\n\n",
         "Translate into German:\n\n", "Translate into French:\n\n", "What are the main points of this?\n\n",
         "Correct the mistakes in this text and leave the rest as it is:\n\n",
         "Ask three questions about this text and answer them from it:\n\n",
         "Write a title, then the text with headings:\n\n", "Make a table of this:\n\n")  # fmt: skip
"""Tasks on a user's text."""


def chat_template(tokenizer: TokenizerWrapper) -> Template:
    """Raises BadChoice if the model has no chat template, or one that refuses or changes the question."""
    if not tokenizer.has_chat_template:
        raise BadChoice(f"This model has no chat template, so it cannot write chats. {INSTEAD}")
    message = [{"role": "user", "content": WORDS}]
    try:
        text: str = tokenizer.apply_chat_template(message, add_generation_prompt=True, tokenize=False)
    except Exception as error:
        why = reason_of(error)
        raise BadChoice(f"This model's chat template refuses a question ({why}). {INSTEAD}") from error
    before, found, after = text.partition(WORDS)
    if not found:
        raise BadChoice(f"This model's chat template does not show the question. {INSTEAD}")

    def encode(part: str) -> list[int]:
        return list(tokenizer.encode(part, add_special_tokens=False))

    answer = encode(after)
    # An added token that ends the question ends an answer too, where the model names no such end.
    ends = {*tokenizer.eos_token_ids, *{*answer[:1]}.intersection(tokenizer.added_tokens_decoder)}
    openings = tuple(tuple(encode(opening)) for opening in OPENINGS)
    tasks = tuple(tuple(encode(task)) for task in TASKS)
    return Template(encode(before), answer, frozenset(ends), (*openings, *[()] * len(OPENINGS)), tasks)
