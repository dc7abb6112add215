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
from orchestrator_core.conductor.kernels.rows import Rows
from orchestrator_core.conductor.kernels.tile_graph import is_inside


@dataclass(frozen=True)
class Ending:
    """Attributes:
    graph: takes what a program has accumulated, the first element along the outer role, and the
        place along each role of cells; returns its part of the results, and, if `is_checked`, 1 if
        none of its rows is in doubt, else 0.
    results: what is written, and how the whole arrays are cut.
    outer, cells: the roles of a program's place.
    """

    graph: Graph
    results: tuple[tuple[Value, Cut], ...]
    is_checked: bool
    outer: Role
    cells: tuple[Role, ...]

    def outputs(self, programs: Sequence[int]) -> list[Any]:
        """What the kernel writes. `programs`: how many there are, along cells and rows of tiles."""
        flags = [pallas.output(programs, np.int32)] if self.is_checked else []
        return [*(pallas.output(cut.shape, value.dtype) for value, cut in self.results), *flags]

    def write(self, refs: Sequence[Any], state: Sequence[Any], place: Place, number: Any) -> None:
        """From what one program has accumulated. `number`: which one it is, along cells and rows of
        tiles."""
        at = [place.at[self.outer], *(place.at[role] for role in self.cells)]
        made = squeezed.run(self.graph, [*state, *at])
        for (_, cut), ref, array in zip(self.results, refs, made, strict=False):
            cut.write(ref, place, array)
        if self.is_checked:
            pallas.store(refs[-1], number, made[-1], None)

    def whole(self, made: Sequence[Any]) -> list[Any]:
        """What the kernel wrote, in the shapes of the results."""
        flags = made[len(self.results) :]
        pairs = zip(made, self.results, strict=False)
        return [*(jnp.reshape(array, value.shape) for array, (value, _) in pairs), *flags]


def ending_of(rows: Rows, length: int, sizes: Mapping[Role, int]) -> Ending:
    """Args:
    length: of the outer role. sizes: of a program's part, along its roles, the outer one first.
    """
    outer = next(iter(sizes))
    results, checked = rows.results, rows.checked
    specs = [rows.specs[value] for value in results]
    flags = [rows.spec_of_usual(node) for node in checked]
    traced = rows.traced(results, checked)
    cells = Cells.of(traced, list(zip(traced.outputs, [*specs, *flags], strict=True)))

    def program(*arrays: Any) -> list[Any]:
        given, places = arrays[: len(traced.inputs)], arrays[len(traced.inputs) :]
        place = Tile(dict(zip(sizes, places, strict=True)), sizes)
        made = cells.evaluate(dict(zip(traced.inputs, given, strict=True)), place)
        usual = [
            jnp.all(are | ~is_inside(spec, outer, length, place))
            for are, spec in zip(made[len(results) :], flags, strict=True)
        ]
        flag = [functools.reduce(jnp.logical_and, usual).astype(np.int32)] if usual else []
        return [*made[: len(results)], *flag]

    given = [_aval(value, rows.specs[value], sizes) for value in rows.source.outputs]
    at = [_jax.ShapedArray((), np.dtype(np.int32))] * len(sizes)
    graph = read(_jax.trace(program, [*given, *at]))
    written = tuple((value, Cut(spec)) for value, spec in zip(results, specs, strict=True))
    return Ending(graph, written, bool(checked), outer, tuple(sizes)[1:])


def _aval(value: Value, spec: Spec, sizes: Mapping[Role, int]) -> Any:
    return _jax.ShapedArray(tile_shape(spec, sizes), value.dtype)
