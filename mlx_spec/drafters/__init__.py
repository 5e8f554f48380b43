"""The drafter interface: read this to write one (docs/add-a-drafter.md has an example).

A drafter proposes the next few tokens of the texts it is given. It keeps its state up to date (after rejected
drafts, new answers, rounds of other drafters) and returns only its draft; an empty draft is always legal.
It neither chooses the draft length nor verifies.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from reprlib import repr as short

import mlx.core as mx
import mlx.nn as nn
from jaxtyping import Int

from mlx_spec.arrays import Draft, Length, Output, Pass, Verdict, take_rows
from mlx_spec.candidate import Candidate
from mlx_spec.errors import BadOption, NoDrafter, SpecError
from mlx_spec.target.model import Model
from mlx_spec.types import Options
from mlx_spec.verify.batch import BatchVerifier

Texts = Sequence[Sequence[int]]
"""Token ids of each text; empty at a free place, whose draft is not used."""
Shadow = tuple[int, Candidate, list[bool]]
"""Shadow results: index of the text, the candidate, and for each token whether it would have predicted it."""


@dataclass(frozen=True, slots=True)
class Context:
    """The texts at the start of a round."""

    host_tokens: Texts
    """The texts as far as the host has read them: whole, if the candidate has `host_text`."""
    tokens: Int[mx.array, "b capacity"]
    """The texts on the device; meaningless from `length` on."""
    length: Length
    nodes: int = 0
    """Tokens of the tree that is asked for (`Candidate.nodes`); 0: a chain."""

    def last(self, count: int) -> Int[mx.array, "b {count}"]:
        """The last `count` tokens of each, lazily."""
        return take_rows(self.tokens, self.length.plus(-count).value, count)


class Drafter(ABC):
    """One drafting method."""

    name: str = ""
    """As in `Options.drafter`."""
    models: Sequence[Model] = ()
    """Its own models, whose caches it keeps."""
    taps: Sequence[int] = ()
    """Layers of the target whose outputs it observes."""
    trees: bool = False
    """Whether it may propose trees; `attach` clears it if the target cannot read them."""
    nodes: Sequence[int] = ()
    """Sizes of its trees, if it has several."""
    by_name: bool = False
    """Whether it drafts only if the options name it, not in `auto`."""
    given_to: Model | None = None
    """The target of the last engine that it was given to: its state is about the texts there."""

    @property
    def takes_time(self) -> bool:
        """Whether drafting takes a time worth measuring: a model is run for it."""
        return bool(self.models)

    @property
    def parts(self) -> Sequence[nn.Module]:
        """Modules with its weights, which may include some of the target's."""
        return [each.model for each in self.models]

    def attach(self, target: Model) -> None:
        """Called with the target, whose rows it may use."""
        self.trees = self.trees and target.trees

    def rearrange(self, order: Sequence[int]) -> None:
        """Text i gets a copy of text `order[i]`'s state on the device; `begin` follows."""
        for model in self.models:
            model.rearrange(order)

    def begin(self, texts: Texts, documents: Sequence[Texts]) -> None:
        """Set the texts to write: new prompts, and texts that continue when others join or leave.

        Passes of a model are left to `draft`, so that the first token is not delayed.

        Args:
            documents: for each text, others that it may copy from.
        """
        return None

    def forget(self) -> None:
        """Forget what earlier texts taught it, as after loading; cached texts are not read again."""
        return None

    def drop(self) -> None:
        """`forget`, and free all state: the next text is read from its first token for this drafter."""
        self.forget()

    def reusable(self, tokens: Sequence[int], place: int) -> int:
        """How many of the first tokens the target need not read again for it, of a text at this place."""
        return len(tokens)

    def pretend(self, tokens: Sequence[int]) -> None:
        """Act as if a text of these tokens had been read, for timing."""
        for model in self.models:
            if not model.recurrent:
                model.read_to(tokens, len(tokens))

    @abstractmethod
    def candidates(self, length: Length) -> Sequence[Candidate]:
        """The drafts that it could make for texts of `length` tokens; may be empty."""

    @abstractmethod
    def draft(self, context: Context, depth: int, verifier: BatchVerifier) -> Draft:
        """Propose at most `depth` tokens after one another for each text.

        Depth 0, only given if its candidate has `shadows`, asks for a shadow draft of the latest tokens.
        """

    def observe(self, p: Pass, output: Output, verdict: Verdict | None) -> None:
        """A pass of the target was built: of prefill (no verdict), or of a round."""
        return None

    def commit(self, texts: Texts) -> Sequence[Shadow]:
        """The host has read a round and knows the texts up to here.

        Returns:
            Shadow results of the new tokens, if they cost nothing.
        """
        return ()


def check_drafters(drafters: Sequence[Drafter]) -> None:
    """Raise SpecError if one is not a drafter, or `Options.drafter` could not name it, or would name two."""
    for drafter in drafters:
        if not isinstance(drafter, Drafter):
            raise SpecError(
                f"{short(drafter)} is not a drafter. Give instances of classes that subclass Drafter."
            )
        if not all(isinstance(model, Model) for model in drafter.models):
            raise SpecError(
                f"The drafter {type(drafter).__name__} is wrong: not all of its models are a `Model`. "
                "See mlx_spec/target/model.py."
            )
    names = [drafter.name for drafter in drafters]
    for drafter, name in zip(drafters, names, strict=True):
        no_name = not isinstance(name, str) or name in ("", "auto", "none") or "+" in name
        if no_name or names.count(name) > 1:
            raise SpecError(
                f"The drafter {type(drafter).__name__} has the name '{name}'. Give each drafter of an engine "
                "a name of its own, without + and other than auto and none."
            )


def checked_candidates(drafter: Drafter, length: Length) -> Sequence[Candidate]:
    """Its candidates; SpecError if it gives something else, or one of another drafter, which would draft."""
    given = drafter.candidates(length)
    try:
        found = [*given]
        other = next((each.drafter for each in found if each.drafter != drafter.name), None)
    except (TypeError, AttributeError):
        raise SpecError(
            f"The drafter {drafter.name} is wrong: {short(given)} is not a list of `Candidate`. "
            "See mlx_spec/candidate.py."
        ) from None
    if other is not None:
        raise SpecError(
            f"The drafter {drafter.name} is wrong: its candidate is of the drafter "
            f"'{other}'. See `Candidate` in mlx_spec/candidate.py."
        )
    return found


def drafters_for(options: Options, drafters: Sequence[Drafter]) -> list[Drafter]:
    """The drafters that these options allow.

    Raises:
        NoDrafter: there is no drafter of a given name.
        BadOption: they are no `Options`.
    """
    if not isinstance(options, Options):
        raise BadOption(f"The options are {short(options)}; they must be mlx_spec.Options(...).")
    usual = [drafter.name for drafter in drafters if not drafter.by_name]
    names = {"auto": usual, "none": []}.get(options.drafter, options.drafter.split("+"))
    known = [drafter.name for drafter in drafters]
    if unknown := [name for name in names if name not in known]:
        raise NoDrafter(
            f"There is no drafter {unknown[0]} in this pair. "
            f"Use auto, or one or more of these joined by +: {', '.join(known)}."
        )
    if options.draft_length == 0:
        return []
    return [drafter for drafter in drafters if drafter.name in names]
