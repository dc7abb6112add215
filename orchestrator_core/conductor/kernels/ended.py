"""Kernels that do what follows them row by row.

In the rare case that rows are in doubt, which the kernel tells, all is done as it was.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import Any

from jax import lax

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.alike import Shared, looks
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.ending import ending_of
from orchestrator_core.conductor.kernels.following import rows_after
from orchestrator_core.conductor.kernels.hopper.kernel import HopperKernel
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.kernels.price import seconds_of_kernel, work_of_kernel
from orchestrator_core.conductor.kernels.program import PassProgram, refusal_of
from orchestrator_core.conductor.kernels.rows import Rows, is_free
from orchestrator_core.conductor.kernels.told import are_told
from orchestrator_core.conductor.site import Site
from orchestrator_core.conductor.tile.run import Runner
from orchestrator_core.conductor.tile.settings import TileSettings

ASKING = 2
"""Small kernels, or what takes as long: whether any row is in doubt, and to go on as it says."""


@dataclass(frozen=True)
class EndedProgram:
    """Called with what `before` reads it returns the same.

    Attributes:
        kernel: with an ending. before: the pass as it was, and what followed it.
    """

    kernel: PassKernel | HopperKernel
    before: Graph

    def __call__(self, arrays: Sequence[Any]) -> list[Any]:
        if self.kernel.is_interpreted:
            return self.by_kernel(*arrays)
        made: Any = lax.platform_dependent(*arrays, cuda=self.by_kernel, default=self.as_it_was)
        return list(made)

    def by_kernel(self, *arrays: Any) -> list[Any]:
        made = self.kernel(dict(zip(self.before.inputs, arrays, strict=True)))
        count = len(self.before.outputs)
        if len(made) == count:
            return made
        are_usual = made[count].all()
        return list(lax.cond(are_usual, _kept, self._again, made[:count], list(arrays)))

    def as_it_was(self, *arrays: Any) -> list[Any]:
        return evaluate(self.before, arrays)

    def _again(self, made: list[Any], arrays: list[Any]) -> list[Any]:
        return self.as_it_was(*arrays)

    @property
    def kernels(self) -> tuple[PassKernel | HopperKernel, ...]:
        return (self.kernel,)


def _kept(made: list[Any], arrays: list[Any]) -> list[Any]:
    return made


def in_kernels(graph: Graph, goal: Goal, settings: TileSettings) -> tuple[Graph, list[Site]]:
    """All kernels of passes with what follows them row by row. That is part of the kernel, so no
    site tells of it."""
    known = _Known()
    for node in graph.nodes:
        program = node.params.get("program")
        if isinstance(program, PassProgram) and len(program.kernels) == 1:
            try:
                graph = _ended(graph, node, program, known)
            except Exception:  # this kernel stays as it is
                continue
    return graph, []


def _ended(graph: Graph, node: Node, program: PassProgram, known: _Known) -> Graph:
    """The graph with a kernel and what follows it as one node, or as it is."""
    (kernel,) = program.kernels
    if not all(kernel.side.outer in cut.roles for cut in kernel.state):
        return graph
    rows = rows_after(graph, node, kernel.cell.state)
    made = known.node(rows, program.runner, kernel) if rows is not None else None
    if rows is None or made is None:
        return graph
    done = {each for each in rows.nodes if not is_free(each)}
    nodes = [made if each is node else each for each in graph.nodes]
    return graph.with_nodes([each for each in nodes if each not in done])


class _Known:
    """Of many layers that look the same only one is compiled and traced."""

    def __init__(self) -> None:
        self._is_possible: dict[Hashable, bool] = {}
        self._shared = Shared()

    def node(self, rows: Rows, runner: Runner, kernel: PassKernel | HopperKernel) -> Node | None:
        """Of a kernel and what follows it; None if that cannot be compiled."""
        parts = (runner, kernel.words, rows.nodes)
        key = looks(rows.reads, rows.results, *parts)
        ended = _with_ending(kernel, rows)
        if key not in self._is_possible:
            self._is_possible[key] = not refusal_of(ended)
        if not self._is_possible[key]:
            return None
        return self._shared.of(_node(rows, ended, runner), *parts)


def _with_ending(kernel: PassKernel | HopperKernel, rows: Rows) -> PassKernel | HopperKernel:
    outer, watch = kernel.side.outer, kernel.usual.watch
    ending = ending_of(rows, outer, kernel.side.length[outer], kernel.part, kernel.cell.count)
    if watch is not None and are_told(watch, rows):
        watch = dataclasses.replace(watch, leaves=())
    return kernel.with_ending(ending, watch)


def _node(rows: Rows, kernel: PassKernel | HopperKernel, runner: Runner) -> Node:
    source, results = rows.source, rows.results
    # What is seldom done is done by the kernel that any GPU has.
    usual = PassProgram(runner, tuple(k.usual for k in source.params["program"].kernels))
    seldom = dataclasses.replace(source, apply=usual, params={**source.params, "program": usual})
    before = Graph(rows.reads, results, (seldom, *rows.nodes), {})
    program = EndedProgram(kernel, before)
    priced = dataclasses.replace(kernel.usual, ending=kernel.ending)
    work = work_of_kernel(priced)
    if kernel.ending is not None and kernel.ending.is_checked:
        work = dataclasses.replace(work, kernels=work.kernels + ASKING)
    params = {
        "program": program,
        "work": work,
        "seconds": seconds_of_kernel(priced, work, this_device()),
    }
    return Node("kernel_pass", rows.reads, results, program, params, source=source.source)
