"""Two products with anything between them, as one kernel for Hopper.

A program has two groups of warps with a tile of rows each, and a third that copies columns into
shared memory some tiles ahead. The two take turns: while one multiplies, the other does what is
between the products. As in Shah and others, "FlashAttention-3" (2024).
"""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import ROLES, Role, full_shape
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels import pallas, squeezed
from orchestrator_core.conductor.kernels.cell import cell_of
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.rules import rules
from orchestrator_core.conductor.kernels.hopper.two_products import TwoProducts
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.kernels.refused import Refused
from orchestrator_core.conductor.kernels.tile_graph import tile_graph
from orchestrator_core.conductor.tile.passes import Pass

ROWS, COLUMNS = 64, 128
"""Of a tile of one group."""

GROUPS = 2
"""That compute; a third one copies."""

STAGES = 3
"""Tiles of columns in shared memory, at most."""

REGISTERS, FEW_REGISTERS = 232, 40
"""Of a thread that computes, and of one that copies."""

WIDEST = 128
"""Elements of a row that is multiplied, at most: more do not fit into registers."""

State = tuple[Any, ...]


@dataclass(frozen=True)
class HopperKernel:
    """Attributes:
    usual: the same for any GPU, with tiles as large as those of all groups together; used where
        tiles were left out that should not have been.
    one: the same with tiles of one group. masked, plain: what is done with a tile, and with one
        that no mask cuts.
    stages: tiles of columns in shared memory.
    """

    usual: PassKernel
    one: PassKernel
    masked: TwoProducts
    plain: TwoProducts | None
    stages: int

    @classmethod
    def of(cls, usual: PassKernel) -> HopperKernel:
        """Raises:
        Refused: if it is something else.
        """
        side = usual.side
        outer, inner = side.outer, side.inner
        if side.length[outer] % (GROUPS * ROWS) or side.length[inner] % COLUMNS:
            raise Refused("lengths that are no multiples of a tile")
        size: dict[Role, int] = {outer: ROWS, inner: COLUMNS}
        one = PassKernel.of(side, {role: size[role] for role in ROLES}, Launch())
        split = functools.partial(TwoProducts.of, outer=outer, inner=inner, tile=(ROWS, COLUMNS))
        masked = split(one.cell)
        plain = None
        if usual.plain is not None:
            plain = split(cell_of(tile_graph(side, one.size, usual.plain.recipe)))
        made = cls(usual, one, masked, plain, 0)
        stages = min(STAGES, made.most_stages)
        if stages < 2:
            raise Refused("two tiles of columns do not fit into shared memory")
        return cls(usual, one, masked, plain, stages)

    @property
    def leaves(self) -> tuple[Cut, ...]:
        return self.one.leaves

    @property
    def widths(self) -> tuple[int, int]:
        """Elements along which queries and keys are multiplied, and of a value."""
        found = []
        for k in (self.masked.key, self.masked.value):
            (width,) = [size for size, role in self.leaves[k].parts if role is None and size > 1]
            if width % 64 or width > WIDEST:
                raise Refused(f"rows of {width} elements")
            found.append(width)
        return found[0], found[1]

    @property
    def most_stages(self) -> int:
        """That fit into shared memory beside the queries of all groups."""
        d, width = self.widths
        queries = GROUPS * ROWS * d * 2
        return (mosaic.MOST_SHARED - queries) // (COLUMNS * (d + width) * 2)

    is_interpreted = False

    @property
    def side(self) -> Pass:
        return self.usual.side

    @property
    def size(self) -> dict[Role, int]:
        return self.usual.size

    @property
    def rows(self) -> int:
        return self.usual.rows

    @property
    def columns(self) -> int:
        return self.usual.columns

    def __call__(self, values: Mapping[Value, Any]) -> list[Any]:
        """What is accumulated, from the values that leaves are cut from."""
        leaves = zip(self.one.side.recipe.leaves, self.leaves, strict=True)
        given = [jnp.reshape(values[key[0]], cut.shape) for key, cut in leaves]
        live = None if self.usual.watch is None else self.usual.watch.live(values)
        made = self._run([*given, self._bounds(live)])
        if live is None:
            return self._whole(made)
        is_proven = self._is_proven(made, live.needs)

        def kept(made: list[Any], arrays: list[Any]) -> list[Any]:
            return made

        def again(made: list[Any], arrays: list[Any]) -> list[Any]:
            return self.usual(dict(zip(values, arrays, strict=True)))

        found: list[Any] = lax.cond(
            is_proven, kept, again, self._whole(made), list(values.values())
        )
        return found

    def _bounds(self, live: Any) -> Any:
        """(4, rows) of each row the first tile and the one after the last, and the same of those
        that no mask cuts."""
        whole = np.zeros((2, self.rows), np.int32)
        whole[1] = self.usual.columns
        visited = whole if live is None else live.bounds
        if self.plain is None or self.usual.plain is None:
            inside = jnp.stack([visited[0], visited[0]])
        else:
            inside = jnp.clip(self.usual.plain.bounds, visited[0], visited[1])
        return jnp.concatenate([visited, inside]).astype(np.int32)

    def _is_proven(self, made: Sequence[Any], needs: Any) -> Any:
        """Do all tiles that were left out change nothing?"""
        found = []
        for k, (each, cut) in enumerate(
            zip(self.one.side.accumulators, self.one.state, strict=True)
        ):
            axis = [role for _, role in cut.parts].index(self.one.side.outer)
            rows = jnp.moveaxis(made[k], axis, 0).reshape(self.rows, -1)
            found.append(needs[k] < jnp.stack([each.have(rows.min(1, keepdims=True)[0])]))
        return functools.reduce(jnp.logical_and, [each.all() for each in found])

    def _whole(self, made: Sequence[Any]) -> list[Any]:
        pairs = zip(self.one.state, made, strict=True)
        return [jnp.reshape(array, full_shape(cut.spec)) for cut, array in pairs]

    def _run(self, given: Sequence[Any]) -> Sequence[Any]:
        d, width = self.widths
        dtype = given[self.masked.query].dtype
        cells = self.one.cell.count
        names = [f"cell_{k}" for k in range(len(cells))]
        outputs = [
            pallas.output(cut.shape, each.dtype)
            for each, cut in zip(self.one.side.accumulators, self.one.state, strict=True)
        ]
        keys, values = (
            (self._is_turned(k), w) for k, w in ((self.masked.key, d), (self.masked.value, width))
        )
        scratch = [
            mosaic.shared((GROUPS, ROWS, d), dtype),
            mosaic.shared((self.stages, *_shape(*keys)), dtype),
            mosaic.shared((self.stages, *_shape(*values)), given[self.masked.value].dtype),
            mosaic.barriers(GROUPS),
            mosaic.barriers(self.stages),
            mosaic.barriers(self.stages),
            mosaic.barriers(self.stages, GROUPS),
            mosaic.barriers(self.stages, GROUPS),
            mosaic.barriers(1, GROUPS),
        ]
        # Rows first: programs that run at the same time read the same columns.
        grid = (self.rows, *cells.values())
        call = mosaic.call(self._program, grid, ["row", *names], outputs, scratch, GROUPS + 1)
        return call(*given)

    def _is_turned(self, leaf: int) -> bool:
        """Do columns lie behind each other, not one in a row?"""
        return self.leaves[leaf].parts[-1][1] is not None

    def _program(self, refs: Sequence[Any], held: Sequence[Any]) -> None:
        program = _Program(self, refs, held)
        mosaic.when(program.group < GROUPS)(program.compute)
        mosaic.when(program.group == GROUPS)(program.copy)


def _shape(is_turned: bool, width: int) -> tuple[int, int]:
    return (width, COLUMNS) if is_turned else (COLUMNS, width)


class _Program:
    """What one program does."""

    def __init__(self, kernel: HopperKernel, refs: Sequence[Any], held: Sequence[Any]) -> None:
        self.kernel, count = kernel, len(kernel.leaves)
        self.leaves, self.bounds, self.outputs = refs[:count], refs[count], refs[count + 1 :]
        self.queries, self.keys, self.values = held[:3]
        self.query_is_there, self.key_is_there, self.value_is_there = held[3:6]
        self.key_is_free, self.value_is_free, self.turn = held[6:]
        self.group = mosaic.axis_index(mosaic.GROUP)
        self.row = kernel.rows - 1 - mosaic.axis_index("row")
        cells = kernel.one.cell.count
        self.cells = {role: mosaic.axis_index(f"cell_{k}") for k, role in enumerate(cells)}
        first, last, begin, end = (self.bounds[k, self.row] for k in range(4))
        self.first, self.begin, self.end = first, begin, end
        self.plain_steps, self.steps = end - begin, last - first

    def column(self, step: Any) -> Any:
        """The tile of a step: first those that no mask cuts."""
        other = step - self.plain_steps
        before = self.begin - self.first
        masked = jnp.where(other < before, self.first + other, self.end + other - before)
        return jnp.where(step < self.plain_steps, self.begin + step, masked)

    def at(self, leaf: int, place: Mapping[Role, Any]) -> tuple[Any, ...]:
        """Where a piece of a leaf lies in memory."""
        kernel = self.kernel
        at, _ = kernel.leaves[leaf]._at(Place({**self.cells, **place}, kernel.one.size))
        return tuple(at)

    # The group that copies.

    def copy(self) -> None:
        mosaic.with_registers(FEW_REGISTERS, action="decrease")
        stages = self.kernel.stages

        def fill(step: Any, slot: Any) -> None:
            place = {self.kernel.one.side.inner: self.column(step) * COLUMNS}
            masked = self.kernel.masked
            for leaf, into, there in (
                (masked.key, self.keys, self.key_is_there),
                (masked.value, self.values, self.value_is_there),
            ):
                source = self.leaves[leaf].at[self.at(leaf, place)]
                mosaic.copy_in(source, into.at[slot], there.at[slot])

        for step in range(stages):
            mosaic.when(step < self.steps)(functools.partial(fill, jnp.int32(step), step))

        def again(step: Any, _: None) -> None:
            slot = lax.rem(step, jnp.int32(stages))
            mosaic.wait(self.key_is_free.at[slot])
            mosaic.wait(self.value_is_free.at[slot])
            fill(step, slot)

        lax.fori_loop(jnp.int32(stages), self.steps, again, None)

    # The groups that compute.

    def compute(self) -> None:
        kernel = self.kernel
        mosaic.with_registers(REGISTERS, action="increase")
        self.first_row = (self.row * GROUPS + self.group) * ROWS
        place = {kernel.one.side.outer: self.first_row}
        query = self.leaves[kernel.masked.query].at[self.at(kernel.masked.query, place)]
        mosaic.copy_in(query, self.queries.at[self.group], self.query_is_there.at[self.group])
        self.own = self._own(place)
        mosaic.wait(self.query_is_there.at[self.group])
        mosaic.wait(self.key_is_there.at[0])
        mosaic.when(self.group == 1)(self.take_turns)
        state = self.start()
        if kernel.plain is not None:
            tile = functools.partial(self.tile, kernel.plain)
            state = lax.fori_loop(jnp.int32(0), self.plain_steps, tile, state)
        tile = functools.partial(self.tile, kernel.masked)
        state = lax.fori_loop(self.plain_steps, self.steps, tile, state)
        mosaic.when(self.group == 0)(self.take_turns)
        self.finish(state)

    def take_turns(self) -> None:
        mosaic.arrive(self.turn)
        mosaic.wait(self.turn)

    def start(self) -> State:
        place = Place({}, self.kernel.one.size)
        made = []
        pairs = zip(self.kernel.one.side.accumulators, self.kernel.one.state, strict=True)
        for each, cut in pairs:
            made.append(mosaic.laid(jnp.full(cut.piece(place), each.start, each.dtype), ROWS))
        return tuple(made)

    def _own(self, place: Mapping[Role, Any]) -> list[Any]:
        """Of leaves that are the same in the whole row."""
        inner = self.kernel.one.side.inner
        leaves = enumerate(self.kernel.leaves)
        return [None if inner in cut.roles else self._read(k, place) for k, cut in leaves]

    def _read(self, leaf: int, place: Mapping[Role, Any]) -> Any:
        value = self.kernel.masked.body.inputs[leaf]
        if not self.kernel.masked.body.consumers[value]:
            return None
        cut = self.kernel.leaves[leaf]
        shape = cut.piece(Place({}, self.kernel.one.size))
        return mosaic.load(self.leaves[leaf], self.at(leaf, place), shape, ROWS)

    def tile(self, products: TwoProducts, step: Any, state: State) -> State:
        kernel = self.kernel
        slot = lax.rem(step, jnp.int32(kernel.stages))
        scores = self._scores(slot)
        mosaic.arrive(self.key_is_free.at[slot])
        made = squeezed.run(products.body, self._given(step, state, scores), rules(ROWS))
        *others, weights, base = made
        weights = weights.astype(self.values.dtype)
        *others, weights, base = mosaic.together((*others, weights, base))
        mosaic.arrive(self.turn)
        mosaic.wait(self.value_is_there.at[slot])
        mosaic.wait(self.turn)
        total = self._total(base, weights, slot, step)
        mosaic.arrive(self.value_is_free.at[slot])
        others.insert(products.place, total)
        return tuple(others)

    def _scores(self, slot: Any) -> Any:
        keys = self.keys.at[slot]
        keys = keys if self.kernel._is_turned(self.kernel.masked.key) else mosaic.turned(keys)
        queries = self.queries.at[self.group]
        return mosaic.product(queries, keys, (ROWS, COLUMNS), self.take_turns)

    def _total(self, base: Any, weights: Any, slot: Any, step: Any) -> Any:
        values = self.values.at[slot]
        is_turned = self.kernel._is_turned(self.kernel.masked.value)
        values = mosaic.turned(values) if is_turned else values

        def next_is_there() -> None:
            following = lax.rem(step + 1, jnp.int32(self.kernel.stages))

            @mosaic.when(step + 1 < self.steps)
            def _() -> None:
                mosaic.wait(self.key_is_there.at[following])

        return mosaic.added(base, weights, values, next_is_there)

    def _given(self, step: Any, state: State, scores: Any) -> list[Any]:
        side = self.kernel.one.side
        place = {side.outer: self.first_row, side.inner: self.column(step) * COLUMNS}
        inner = {side.inner: place[side.inner]}
        leaves = [
            self._read(k, inner) if side.inner in cut.roles else self.own[k]
            for k, cut in enumerate(self.kernel.leaves)
        ]
        at = [place["i"], place["j"], *self.cells.values()]
        return [*leaves, *state, *at, scores]

    def finish(self, state: State) -> None:
        kernel = self.kernel
        place = Place({**self.cells, kernel.one.side.outer: self.first_row}, kernel.one.size)
        for cut, ref, array in zip(kernel.one.state, self.outputs, state, strict=True):
            at, _ = cut._at(place)
            ref.at[tuple(at)][...] = array
