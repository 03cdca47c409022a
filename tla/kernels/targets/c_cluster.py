"""Clusters in C: every statement ends for all blocks of a cluster before the next, as for all threads of a block.

So a load comes to the shared memory of several blocks by a loop over these. What a block alone does under a condition
of its own is one statement then: it may not wait in it for what other blocks do.

Source: ours.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

from ...codegen.c_languages import C_FAMILY
from ...core.errors import LeafTypeError
from ...symbolic import SymInt
from ..block.allocation import PLACES
from ..program.digits import loops
from ..program.statements import Either, Load, Loop, Program, Signal, Statement, statements_of, word_of
from ..text.names import WORD
from ..text.statements import Block, Writer
from ..tiles.whole import is_filled_before
from .lanes import Lanes

#: Words that all blocks of a cluster come to.
_OF_ALL = "cluster_sync", "cluster_arrive", "cluster_wait"


#: The word of a text for an atomic addition, by which steps of a loop over threads touch one element.
ADDED = "ADD_ATOMICALLY"


def assembled(blocks: Sequence[Block], threads: int, before: Sequence[str]) -> list[str]:
    """The lines of blocks of a text, those of each thread in loops over threads; before: in front of the innermost."""
    out = []
    for block in blocks:
        lines = block.lines if block.threads else [x for x in block.lines if x not in ("{barrier}", "{cluster_sync}")]
        if block.threads:
            comment, *lines = lines
            are_apart = not any(f"{ADDED}(" in x for x in lines)
            lines = [comment, *loops(lines, "{int}", threads, before if are_apart else [])]
        out += [f"{'    ' * block.indent}{line}" for line in lines]
    return out


class ClusterWriter(Writer):
    """The text of a program of clusters, in which each statement is a loop over the blocks of a cluster.

    before   the lines in front of loops over threads

    The others are those of Writer. Source: ours.
    """

    def __init__(self, program: Program, own: str, others: str, adds: str, lanes: Lanes, before: Sequence[str]) -> None:
        super().__init__(program, C_FAMILY["c"], own, others, adds, lanes, loops=True)
        self._lanes, self._before, self._inside = lanes, before, False
        several = (s for s in program.statements() if isinstance(s, (Load, Signal)) and s.mask is not None)
        self._met = {id(s.barriers) for s in several}

    def blocks(self, body: Sequence[Statement] | None = None, indent: int = 0) -> Iterator[Block]:
        body = self.program.body if body is None else body
        if self._inside:
            yield from super().blocks(body, indent)
            return
        at = 0
        while at < len(body):
            pair = at + 1 < len(body) and is_filled_before(body[at], body[at + 1])
            chunk = body[at : at + 1 + pair]
            at += len(chunk)
            if isinstance(chunk[0], (Loop, Either)) and not self._of_block(chunk[0]):
                yield from super().blocks(chunk, indent)
                continue
            self._require_alone(chunk[0])
            self._inside = True
            lines = assembled([*super().blocks(chunk, 0)], self.program.threads, self._before)
            self._inside = False
            if any(not line.startswith("//") for line in lines):
                yield Block(self._of_each(lines), False, indent)

    def _of_block(self, s: Loop | Either) -> bool:
        """Whether blocks of a cluster may go other ways. LeafTypeError for a loop of other numbers of steps."""
        asked: list[Any] = [s.count] if isinstance(s, Loop) else [x for pair in s.asked for x in pair]
        found = any(str(n).startswith("bid") for x in asked if isinstance(x, SymInt) for n in x.symbols)
        if found and isinstance(s, Loop):
            raise _other_ways(s)
        return found

    def _require_alone(self, s: Statement) -> None:
        """Require of a condition of a block that it waits for other blocks at its beginning alone. LeafTypeError."""
        if not isinstance(s, Either):
            return
        for body in (s.inside, s.otherwise):
            waits = True
            for inner in statements_of(body):
                of_others = self._waits_for_others(inner)
                if (of_others and not waits) or word_of(inner) in _OF_ALL:
                    raise _other_ways(inner)
                if isinstance(inner, Load) and inner.mask is not None:
                    raise _other_ways(inner)
                waits = waits and of_others

    def _waits_for_others(self, s: Statement) -> bool:
        """Whether a statement waits at an mbarrier that other blocks of the cluster use."""
        return isinstance(s, Signal) and s.word == "wait_barrier" and id(s.barriers) in self._met

    def _of_each(self, lines: list[str]) -> list[str]:
        """Lines in a loop over the blocks of a cluster, with the names of its own memory."""
        words, extents = {*WORD.findall("\n".join(lines))}, self.program.cluster
        own, each = [], 1
        for k, n in enumerate(extents):
            if f"bid{k}" in words:
                own.append(f"const {{int}} bid{k} = cluster{k} * {n} + cta / {each} % {n};")
            each *= n
        for name, form, _count in self._memory(words):
            own.append(f"{form.format(f'(*const {name})' if '[' in form else f'*const {name}')} = all_{name}[cta];")
        first = f"for (int cta = 0; cta < {math.prod(extents)}; ++cta) {{"
        return [first, *(f"    {line}" for line in (*own, *lines)), "}"]

    def arrays(self, words: set[str]) -> tuple[list[str], list[str]]:
        """The lines that allocate the memory of the blocks of a cluster that words name, and those that free it."""
        named = [*self._memory(words | {word.removeprefix("all_") for word in words})]
        made = []
        for name, form, count in named:
            blocks = math.prod(self.program.cluster)
            made += [f"{form.format(f'(*all_{name})[{count}]')} = malloc({blocks} * sizeof *all_{name});"]
            made += [f"if (all_{name} == NULL) abort();"]
        return made, [f"free(all_{name});" for name, *_rest in named]

    def _memory(self, words: set[str]) -> Iterator[tuple[str, str, int]]:
        """The arrays of a block that words name: the form of one of their elements, and how many there are."""
        p = self.program
        for k, t in enumerate(p.shared):
            if f"smem{k}" in words:
                yield f"smem{k}", f"{self.element_type(t)} {{}}", len(t.data)
        for name, t in self.registers.values():
            if name in words:
                yield name, f"{self.element_type(t)} {{}}[{len(t.data)}]", p.threads
        for k, x in enumerate(p.tmem):
            if f"tmem{k}" in words:
                yield f"tmem{k}", f"{self.type_named('tensor memory', str(x.data.dtype))} {{}}", PLACES
        if "rows" in words:
            yield "rows", f"void *{{}}[{p.threads}]", self._lanes.rows


def _other_ways(s: Statement) -> LeafTypeError:
    what = f"{s.line}: {word_of(s)} that the blocks of a cluster come to in other ways, in C"
    fix = "let every block come to it, and put the condition around what is its own; or write CUDA"
    return LeafTypeError(what, "a statement that all blocks of the cluster come to", fix)
