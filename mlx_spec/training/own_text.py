"""Texts written by the target: a user's question, from the start of a user's turn alone, and then the answer
(Magpie, Xu et al. 2024, arXiv 2406.08464). Some questions include a text, given or written by the target:
users paste long texts, and the model's own questions are short."""

import random
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import mlx.core as mx
import mlx.nn as nn
from mlx_lm.generate import BatchGenerator, StopSequences
from mlx_lm.sample_utils import make_sampler

from mlx_spec.target.probe import Probe
from mlx_spec.training.study import Text

ROWS = 32
"""Texts written at once."""
ASKED, ANSWERED = 160, 400
"""Tokens of a question and of an answer, at most."""
ASKING = 0.9
"""Temperature of questions: they should differ."""
TEMPERATURES = (0.0, 0.0, 0.6, 0.8, 1.0)
"""Of answers. Two in five are greedy: acceptance is measured on these, and many users want them."""
GIVEN = 1 / 2
"""Share of questions that include a text."""
KEPT = 64
"""Latest answers from which such a text is taken, without `passages`."""


@dataclass(frozen=True, slots=True)
class Template:
    """How a chat is written, in token ids."""

    question: Sequence[int]
    """All before the user's words."""
    answer: Sequence[int]
    """From the end of the user's words to the answer."""
    ends: frozenset[int]
    """What ends an answer."""
    openings: Sequence[Sequence[int]] = ((),)
    """First words of a question: they spread the texts over kinds of tasks."""
    tasks: Sequence[Sequence[int]] = ()
    """Whole questions, but for the text that they are about."""


@dataclass(frozen=True, slots=True)
class Sizes:
    """Sizes of the texts; see the constants above."""

    rows: int
    asked: int
    answered: int
    temperatures: Sequence[float]


def own_texts(
    model: nn.Module,
    template: Template,
    seed: int,
    sizes: Sizes | None = None,
    passages: Sequence[Sequence[int]] = (),
) -> Iterator[Text]:
    """Questions with their answers, one after the other, without end.

    Args:
        passages: texts to include in questions; none: its own answers.
    """
    sizes = sizes or Sizes(ROWS, ASKED, ANSWERED, TEMPERATURES)
    draw = random.Random(seed)
    mx.random.seed(seed % 2**32)
    samplers = {t: [make_sampler(t)] for t in {ASKING, *sizes.temperatures}}
    ends = StopSequences([[end] for end in sorted(template.ends)])
    answer_begins = StopSequences([[end] for end in sorted(template.ends | set(template.answer[:1]))])
    rows = sizes.rows if Probe(model, None).batches() else 1
    writer = BatchGenerator(model, completion_batch_size=rows)
    asked: dict[int, list[int]] = {}
    answered: dict[int, tuple[list[int], int, float]] = {}
    written: deque[Sequence[int]] = deque(maxlen=KEPT)
    given = passages or written

    def write(begun: Sequence[int], count: int, temperature: float, stops: StopSequences) -> int:
        return writer.insert([[*begun]], [count], samplers=samplers[temperature], stop_sequences=[stops])[0]

    def answer(question: Sequence[int]) -> None:
        begun, temperature = [*question, *template.answer], draw.choice(sizes.temperatures)
        answered[write(begun, sizes.answered, temperature, ends)] = (begun, len(begun), temperature)

    while True:
        while len(asked) + len(answered) < rows:
            if template.tasks and given and draw.random() < GIVEN:
                answer([*template.question, *draw.choice(template.tasks), *draw.choice(given)])
            else:
                begun = [*template.question, *draw.choice(template.openings)]
                asked[write(begun, sizes.asked, ASKING, answer_begins)] = begun
        for each in writer.next_generated():
            stopped = each.finish_reason == "stop"
            if each.uid in asked:
                asked[each.uid].append(each.token)
                if each.finish_reason:
                    question = asked.pop(each.uid)
                    answer(question[:-1] if stopped else question)
            else:
                text, begin, temperature = answered[each.uid]
                text.append(each.token)
                if each.finish_reason:
                    del answered[each.uid]
                    written.append(text[begin:-1] if stopped else text[begin:])
                    yield Text(text, begin, temperature == 0)
