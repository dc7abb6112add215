"""What a kernel's programs do with their rows before they write them.

What others read is written in its own type, and nothing of what was accumulated. Rows in doubt are
told by a flag, since no program can do them again by itself.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import Role, Spec, tile_shape
from orchestrator_core.conductor.facts.cells import Cells
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels import pallas, squeezed
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.lighter import lighter
from orchestrator_core.conductor.kernels.rows import Rows
from orchestrator_core.conductor.kernels.squeezed import Rule


@dataclass(frozen=True)
class Ending:
    """Attributes:
    graph: takes what a program has accumulated, the first element along the outer role, and the
        place along each role of cells; returns its part of the results, and, if rows are checked,
        for each row 1 if it is not in doubt, else 0.
    results: what is written, and how the whole arrays are cut.
    usual: how what tells of rows is cut; None if none is checked.
    outer, cells: the roles of a program's place.
    """

    graph: Graph
    results: tuple[tuple[Value, Cut], ...]
    usual: Cut | None
    outer: Role
    cells: tuple[Role, ...]

    @property
    def is_checked(self) -> bool:
        return self.usual is not None

    @property
    def outputs(self) -> list[Any]:
        """What the kernel writes."""
        made = [pallas.output(cut.shape, value.dtype) for value, cut in self.results]
        return made if self.usual is None else [*made, pallas.output(self.usual.shape, np.float32)]

    @property
    def cuts(self) -> list[Cut]:
        """Of what the kernel writes."""
        made = [cut for _, cut in self.results]
        return made if self.usual is None else [*made, self.usual]

    def made(self, state: Sequence[Any], place: Place, rules: Mapping[str, Rule]) -> list[Any]:
        """What is written, from what one program has accumulated."""
        at = [place.at[self.outer], *(place.at[role] for role in self.cells)]
        return squeezed.run(self.graph, [*state, *at], rules)

    def write(
        self, refs: Sequence[Any], state: Sequence[Any], place: Place, rules: Mapping[str, Rule]
    ) -> None:
        """From what one program has accumulated."""
        for cut, ref, array in zip(self.cuts, refs, self.made(state, place, rules), strict=True):
            cut.write(ref, place, array)

    def whole(self, made: Sequence[Any]) -> list[Any]:
        """What the kernel wrote, in the shapes of the results."""
        flags = made[len(self.results) :]
        pairs = zip(made, self.results, strict=False)
        return [*(jnp.reshape(array, value.shape) for array, (value, _) in pairs), *flags]


def ending_of(rows: Rows, outer: Role, length: int, size: int, count: Mapping[Role, int]) -> Ending:
    """Args:
    length, size: of the outer role, and of a program's part of it. count: cells along each role.
    """
    results, checked = rows.results, rows.checked
    specs = [rows.specs[value] for value in results]
    flags = [rows.spec_of_usual(node) for node in checked]
    traced = rows.traced(results, checked)
    cells = Cells.of(traced, list(zip(traced.outputs, [*specs, *flags], strict=True)))
    sizes = {outer: size, **dict.fromkeys(count, 1)}

    def program(*arrays: Any) -> list[Any]:
        given, places = arrays[: len(traced.inputs)], arrays[len(traced.inputs) :]
        place = Tile(dict(zip(sizes, places, strict=True)), sizes)
        made = cells.evaluate(dict(zip(traced.inputs, given, strict=True)), place)
        return [*made[: len(results)], *_flags(made[len(results) :], (1,) * len(count), size)]

    given = [_aval(value, rows.specs[value], sizes) for value in rows.source.outputs]
    at = [_jax.ShapedArray((), np.dtype(np.int32))] * len(sizes)
    graph = read(_jax.trace(program, [*given, *at]))
    ends = [length, *count.values()]
    graph = lighter(graph, dict(zip(graph.inputs[-len(ends) :], ends, strict=True)))
    written = tuple((value, Cut(spec)) for value, spec in zip(results, specs, strict=True))
    usual = cut_of_rows(outer, length, count) if checked else None
    return Ending(graph, written, usual, outer, tuple(count))


def cut_of_rows(outer: Role, length: int, count: Mapping[Role, int]) -> Cut:
    """Of an array with a number for each cell and row."""
    return Cut((*(((many, role),) for role, many in count.items()), ((length, outer),)))


def _flags(usual: Sequence[Any], cells: tuple[int, ...], size: int) -> list[Any]:
    """For each row 1 if all checks hold, else 0; none if there are no checks."""
    if not usual:
        return []
    all_hold = functools.reduce(jnp.logical_and, [jnp.reshape(each, size) for each in usual])
    one, none = np.float32(1), np.float32(0)
    return [jnp.reshape(jnp.where(all_hold, one, none), (*cells, size))]


def _aval(value: Value, spec: Spec, sizes: Mapping[Role, int]) -> Any:
    return _jax.ShapedArray(tile_shape(spec, sizes), value.dtype)
