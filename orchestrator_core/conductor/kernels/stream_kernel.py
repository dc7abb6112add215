"""A loop over time as one kernel: each program carries its part on in registers.

Slices are read some steps ahead, so that nobody waits for memory, as in Gu and Dao, "Mamba" (2023).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.axes import tile_shape
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.kernels import pallas, squeezed
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.held import power_of_two
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.stream import Stream

AHEAD = 8
"""Steps whose slices are read at once."""

Arrays = Sequence[Any]


@dataclass(frozen=True)
class StreamKernel:
    """Attributes:
    stream: what is done in each step. length: how many there are. reverse: the last one first.
    shapes: of the loop's results. ahead: steps whose slices are read at once.
    """

    stream: Stream
    length: int
    reverse: bool
    shapes: tuple[tuple[int, ...], ...]
    is_interpreted: bool = False
    ahead: int = AHEAD

    @cached_property
    def graph(self) -> Graph:
        """A step of one part: of constants, carry, slices, and the place of the part."""
        cells, ones = self.stream.cells, dict.fromkeys(self.stream.count, 1)
        values = cells.graph.inputs

        def program(*arrays: Any) -> list[Any]:
            places = arrays[len(values) :]
            place = Tile(dict(zip(ones, places, strict=True)), ones)
            return cells.evaluate(dict(zip(values, arrays, strict=False)), place)

        specs = self._input_specs
        at = [_jax.ShapedArray((), np.dtype(np.int32))] * len(ones)
        pairs = zip(values, specs, strict=True)
        avals = [_jax.ShapedArray(tile_shape(spec, ones), v.dtype) for v, spec in pairs]
        return read(_jax.trace(program, [*avals, *at]))

    @property
    def _input_specs(self) -> list[Any]:
        cells, first = self.stream.cells, self.stream.consts
        specs = [cells.spec_of(value) for value in cells.graph.inputs]
        specs[first : first + self.stream.carries] = self._output_specs[: self.stream.carries]
        return specs

    @property
    def _output_specs(self) -> list[Any]:
        return list(self.stream.cells.results)

    @property
    def inputs(self) -> list[Cut]:
        return list(map(Cut, self._input_specs))

    @property
    def outputs(self) -> list[Cut]:
        return list(map(Cut, self._output_specs))

    @property
    def steps_first(self) -> int:
        """Of the inputs, where slices begin."""
        return self.stream.consts + self.stream.carries

    @property
    def launch(self) -> Launch:
        """So many warps that a thread has about two elements."""
        place = Place({}, {})
        held = max(math.prod(cut.piece(place)) for cut in self.outputs)
        return Launch(min(8, max(1, power_of_two(held) // 64)), 1)

    def __call__(self, arrays: Arrays) -> list[Any]:
        """Of constants, carry, and arrays with a slice for each step: what the loop returns."""
        steps, carries = self.steps_first, self.stream.carries
        given = [
            jnp.reshape(array, (self.length, *cut.shape) if k >= steps else cut.shape)
            for k, (array, cut) in enumerate(zip(arrays, self.inputs, strict=True))
        ]
        dtypes = [atom.dtype for atom in self.stream.body.outputs]
        outputs = [
            pallas.output((self.length, *cut.shape) if k >= carries else cut.shape, dtype)
            for k, (cut, dtype) in enumerate(zip(self.outputs, dtypes, strict=True))
        ]
        grid = tuple(self.stream.count.values()) or (1,)
        run = pallas.call(self._program, grid, outputs, self.launch, self.is_interpreted)
        return [self._whole(k, array) for k, array in enumerate(run(*given))]

    def _whole(self, k: int, array: Any) -> Any:
        if k in self.stream.sums:
            shape = self.stream.body.outputs[k].shape
            array = jnp.sum(jnp.reshape(array, (self.length, *shape)), 1, dtype=array.dtype)
        return jnp.reshape(array, self.shapes[k])

    def _program(self, *refs: Any) -> None:
        part = _Part(self, refs)
        carry = part.begin()
        blocks = self.length // self.ahead
        if blocks:
            carry, _ = lax.fori_loop(0, blocks, part.block, (carry, part.slices(0, self.ahead)))
        if blocks * self.ahead < self.length:
            carry = lax.fori_loop(blocks * self.ahead, self.length, part.alone, carry)
        part.end(carry)


class _Part:
    """What one program has."""

    def __init__(self, kernel: StreamKernel, refs: Sequence[Any]) -> None:
        self.kernel, count = kernel, len(kernel.inputs)
        self.inputs, self.outputs = refs[:count], refs[count:]
        roles = kernel.stream.count
        at = {role: pallas.program_id(k) for k, role in enumerate(roles)}
        self.place = Place(at, {}, pallas.program_id(0) * 0)
        self.consts = [self._read(k) for k in range(kernel.stream.consts)]

    def _read(self, k: int, before: Sequence[Any] = ()) -> Any:
        if not squeezed.is_needed(self.kernel.graph, k):
            return None
        return self.kernel.inputs[k].read(self.inputs[k], self.place, before)

    def begin(self) -> tuple[Any, ...]:
        kernel, made = self.kernel, []
        for k in range(kernel.stream.consts, kernel.steps_first):
            made.append(kernel.inputs[k].read(self.inputs[k], self.place))
        return tuple(made)

    def _at(self, step: Any) -> Any:
        return self.kernel.length - 1 - step if self.kernel.reverse else step

    def slices(self, step: Any, count: int) -> tuple[tuple[Any, ...], ...]:
        """Of some steps, those that come next."""
        kernel, last = self.kernel, self.kernel.length - 1
        made = []
        for ahead in range(count):
            at = self._at(jnp.minimum(step + ahead, last))
            made.append(
                tuple(self._read(k, [at]) for k in range(kernel.steps_first, len(kernel.inputs)))
            )
        return tuple(made)

    def block(self, number: Any, state: Any) -> Any:
        """Some steps, while the slices of the next ones are under way."""
        carry, now = state
        ahead = self.kernel.ahead
        step = number * ahead
        following = self.slices(step + ahead, ahead)
        for later, each in enumerate(now):
            carry = self.step(step + later, carry, each)
        return carry, following

    def alone(self, step: Any, carry: tuple[Any, ...]) -> tuple[Any, ...]:
        """One step, whose slices are read when they are needed."""
        (each,) = self.slices(step, 1)
        return self.step(step, carry, each)

    def step(self, step: Any, carry: tuple[Any, ...], slices: Arrays) -> tuple[Any, ...]:
        kernel = self.kernel
        places = [self.place.at[role] for role in kernel.stream.count]
        made = squeezed.run(kernel.graph, [*self.consts, *carry, *slices, *places])
        for k in range(kernel.stream.carries, len(made)):
            kernel.outputs[k].write(self.outputs[k], self.place, made[k], [self._at(step)])
        return tuple(made[: kernel.stream.carries])

    def end(self, carry: tuple[Any, ...]) -> None:
        for k, array in enumerate(carry):
            self.kernel.outputs[k].write(self.outputs[k], self.place, array)
