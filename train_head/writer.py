"""The target writes many rows of chats side by side, all on the GPU: a graph per span of the cache."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from train_head.network import Target, norm, rotated

FORCED, ASKED, ANSWERED = 0, 1, 2
"""Roles of tokens: of a given prompt, of one that the target wrote on, of an answer."""
TEMPERATURES = 0.0, 0.0, 0.6, 0.8, 1.0
"""Of answers."""
ASKING = 0.9
LONGEST_QUESTION = 90
ANSWERS = 64, 256
"""Tokens at which answers are cut: long ones of a small model repeat themselves."""
SPANS = 8
"""Lengths of the cache that are read: a step reads no more than it has written, in steps of an eighth."""


class Rows(NamedTuple):
    """Written rows, each `[rows, length]`."""

    tokens: Tensor
    roles: Tensor
    best: Tensor
    """The likeliest next token."""
    begins: Tensor
    """Where each token's chat begins."""
    temperatures: Tensor
    """At which the next token was drawn."""


class Prompts(NamedTuple):
    """Prompts one after the other."""

    flat: np.ndarray
    starts: np.ndarray
    on: np.ndarray
    """Whether the target writes the rest of the question."""
    fresh: np.ndarray
    """Whether a new chat begins."""


class Writer:
    """Writes `rows` rows of `length` tokens at a time.

    Args:
        answer: tokens from the end of a question to its answer; the first ends an answer too.
        turn: the token that begins a turn.
    """

    def __init__(self, target: Target, rows: int, length: int, answer: Sequence[int], turn: int, device: str):
        self.target, self.rows, self.length, self.device = target, rows, length, device
        self.end, self.turn, self.answer = answer[0], turn, np.array(answer)
        self.cos, self.sin = target.rope(length, device)
        shape = (len(target.layers), rows, target.groups, length, target.size)
        self.keys = torch.zeros(shape, device=device, dtype=target.embeddings.dtype)
        self.values = torch.zeros_like(self.keys)
        self.t = torch.zeros(1, device=device, dtype=torch.int64)
        self.next = torch.zeros(1, device=device, dtype=torch.int32)
        names = ("x", "place", "stop", "mode", "left", "prompt", "begin", "later", "role")
        self.state = {name: self.next.new_zeros(rows) for name in names}
        whole = self.next.new_zeros(length, rows)
        self.written = Rows(whole, *(whole.clone() for _ in range(3)), whole.float())
        self.given: dict[str, Tensor] = {}
        self.graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def write(self, prompts: Prompts, draw: np.random.Generator) -> Rows:
        """Rows of answers to these prompts, from the first on, as far as they go."""
        count = len(prompts.on)
        flat = np.concatenate([prompts.flat, self.answer])
        sizes = {"flat": flat, "starts": prompts.starts, "on": prompts.on, "fresh": prompts.fresh,
                 "cut": draw.integers(*ANSWERS, count), "warm": draw.choice(TEMPERATURES, count)}  # fmt: skip
        for name, each in sizes.items():  # graphs keep where these lie
            kind = torch.float32 if name == "warm" else torch.int32
            if name not in self.given:
                self.given[name] = torch.zeros(2 * len(each), device=self.device, dtype=kind)
            self.given[name][: len(each)] = torch.tensor(each, device=self.device, dtype=kind)
        self.count, self.ask = count, len(prompts.flat)
        self._begin()
        for i in range(self.length):
            span = (i * SPANS // self.length + 1) * self.length // SPANS
            if self.device == "cpu":
                self._step(span)
            else:
                self._graph(span).replay()
        return Rows(*(each.T.contiguous() for each in self.written))

    def _begin(self) -> None:
        for each in (self.t, *self.state.values()):
            each.zero_()
        self.next.fill_(self.rows)
        self.state["prompt"].copy_(torch.arange(self.rows, device=self.device) % self.count)
        self._enter(torch.ones(self.rows, dtype=torch.bool, device=self.device))
        self.state["x"].copy_(self.given["flat"][self.state["place"]])
        self.state["place"].add_(1)

    def _set(self, name: str, where: Tensor, value: Tensor | int) -> None:
        self.state[name].copy_(torch.where(where, value, self.state[name]))

    def _enter(self, who: Tensor) -> None:
        """These rows go on with their prompts."""
        prompt, given = self.state["prompt"], self.given
        on = given["on"][prompt] == 1
        self._set("place", who, given["starts"][prompt])
        self._set("stop", who, given["starts"][prompt + 1])
        self._set("mode", who, torch.where(on, ASKED, ANSWERED).int())
        self._set("left", who, torch.where(on, LONGEST_QUESTION, given["cut"][prompt]).int())

    def _graph(self, span: int) -> torch.cuda.CUDAGraph:
        if span not in self.graphs:
            kept = [each.clone() for each in (self.t, self.next, *self.state.values())]
            side = torch.cuda.Stream()
            side.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(side):
                self._step(span)
            torch.cuda.current_stream().wait_stream(side)
            graph = torch.cuda.CUDAGraph()
            pool = next(iter(self.graphs.values())).pool() if self.graphs else None
            with torch.cuda.graph(graph, pool=pool):
                self._step(span)
            for each, before in zip((self.t, self.next, *self.state.values()), kept, strict=True):
                each.copy_(before)
            self.graphs[span] = graph
        return self.graphs[span]

    @torch.no_grad()
    def _step(self, span: int) -> None:
        state, given, t = self.state, self.given, self.t
        self._set("begin", state["later"] <= t, state["later"])
        for name, each in zip(("tokens", "roles", "begins"), ("x", "role", "begin"), strict=True):
            getattr(self.written, name).index_copy_(0, t, state[each][None])
        logits = self._read(span)
        best = logits.argmax(-1).int()
        prompt = state["prompt"]
        warm = torch.where(state["mode"] == ASKED, ASKING, given["warm"][prompt])
        self.written.best.index_copy_(0, t, best[None])
        self.written.temperatures.index_copy_(0, t, warm[None])
        gumbel = -torch.empty_like(logits, dtype=torch.float32).exponential_().log()
        drawn = (logits.float() / warm.clamp(min=0.05)[:, None] + gumbel).argmax(-1).int()
        forced = state["place"] < state["stop"]
        drawn = torch.where(warm == 0, best, drawn)
        x = torch.where(forced, given["flat"][state["place"].clamp(max=len(given["flat"]) - 1)], drawn)
        state["x"].copy_(x)
        state["role"].copy_(torch.where(forced, FORCED, state["mode"]))
        state["left"].sub_((~forced).int())
        state["place"].add_(forced.int())
        ends = x == self.end
        over = ~forced & (ends | (x == self.turn) | (state["left"] <= 0))
        asked, done = over & (state["mode"] == ASKED), over & (state["mode"] == ANSWERED)
        self._set("place", asked, self.ask + ends.int())
        self._set("stop", asked, self.ask + len(self.answer))
        self._set("mode", asked, ANSWERED)
        self._set("left", asked, given["cut"][prompt])
        rank = done.int().cumsum(0, dtype=torch.int32)
        self._set("prompt", done, (self.next + rank - 1) % self.count)
        self.next.add_(rank[-1])
        self._enter(done)
        fresh = done & (given["fresh"][state["prompt"]] == 1)
        state["place"].add_((done & ~fresh & ends).int())  # that token is written already
        self._set("later", fresh, (t + 2).int())
        t.add_(1)

    def _read(self, span: int) -> Tensor:
        target, t, rows = self.target, self.t, self.rows
        places = torch.arange(span, device=self.device)
        seen = (places <= t) & (places >= self.state["begin"][:, None])
        unseen = torch.zeros_like(seen, dtype=self.keys.dtype).masked_fill_(~seen, -torch.inf)[:, None, None]
        cos, sin = self.cos[t], self.sin[t]
        x = target.embeddings[self.state["x"]][:, None]
        for i in range(len(target.layers)):

            def attend(q: Tensor, k: Tensor, v: Tensor, i: int = i) -> Tensor:
                self.keys[i].index_copy_(2, t, rotated(k, cos, sin))
                self.values[i].index_copy_(2, t, v)
                q = rotated(q, cos, sin).view(rows, target.groups, -1, target.size) * target.size**-0.5
                share = (q @ self.keys[i, :, :, :span].mT + unseen).softmax(-1)
                return (share @ self.values[i, :, :, :span]).view(rows, target.heads, 1, target.size)

            x = target.layer(i, x, attend)
        return norm(x[:, 0], target.norm, target.eps) @ target.embeddings.T
