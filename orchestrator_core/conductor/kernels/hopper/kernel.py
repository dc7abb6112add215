"""Two products with anything between them, as one kernel for Hopper.

A program has two groups of warps with a tile of rows each, and a third that copies columns into
shared memory some tiles ahead. The two take turns: while one multiplies, the other does what is
between the products. As in Shah and others, "FlashAttention-3" (2024).
"""

from __future__ import annotations

import dataclasses
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
from orchestrator_core.conductor.kernels.cell import Cell, cell_of
from orchestrator_core.conductor.kernels.cut import Cut, Place
from orchestrator_core.conductor.kernels.ending import Ending, cut_of_rows
from orchestrator_core.conductor.kernels.hopper import mosaic
from orchestrator_core.conductor.kernels.hopper.rules import rules
from orchestrator_core.conductor.kernels.hopper.two_products import TwoProducts
from orchestrator_core.conductor.kernels.live import Watch
from orchestrator_core.conductor.kernels.pallas import Launch
from orchestrator_core.conductor.kernels.pass_kernel import PassKernel
from orchestrator_core.conductor.kernels.refused import Refused
from orchestrator_core.conductor.kernels.tile_graph import tile_graph
from orchestrator_core.conductor.tile.accumulators import RunningMax, Summed
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
    stages: tiles of columns in shared memory. ending: what is done with a row before it is written;
        None if it is written as it is.
    """

    usual: PassKernel
    one: PassKernel
    masked: TwoProducts
    plain: TwoProducts | None
    stages: int
    ending: Ending | None = None

    @classmethod
    def of(cls, usual: PassKernel) -> HopperKernel:
        """Raises:
        Refused: if it is something else.
        """
        side = usual.side
        outer, inner = side.outer, side.inner
        are_sums = all(isinstance(each, RunningMax | Summed) for each in side.accumulators)
        if usual.watch is not None and not are_sums:
            raise Refused("something is accumulated that is no sum")
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
        if made._is_turned(masked.query):
            raise Refused("queries lie side by side, not one after another")
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

    @property
    def state(self) -> tuple[Cut, ...]:
        return self.one.state

    @property
    def cell(self) -> Cell:
        return self.one.cell

    def with_ending(self, ending: Ending, watch: Watch | None) -> HopperKernel:
        usual = dataclasses.replace(self.usual, watch=watch)
        return dataclasses.replace(self, usual=usual, ending=ending)

    @property
    def part(self) -> int:
        """Elements along the outer role that are finished together."""
        return ROWS

    @property
    def words(self) -> str:
        """How it is launched."""
        return f"Hopper, {self.stages} stages"

    @property
    def flags(self) -> Cut | None:
        """Of what tells of each row whether it is right; None if all are."""
        if self.usual.watch is None and (self.ending is None or not self.ending.is_checked):
            return None
        outer = self.side.outer
        return cut_of_rows(outer, self.side.length[outer], self.cell.count)

    @property
    def results(self) -> list[tuple[Cut, Any]]:
        """What is written, beside flags, and its type."""
        if self.ending is not None:
            return [(cut, value.dtype) for value, cut in self.ending.results]
        return [
            (cut, each.dtype) for each, cut in zip(self.side.accumulators, self.state, strict=True)
        ]

    def __call__(self, values: Mapping[Value, Any]) -> list[Any]:
        """What is accumulated, from the values that leaves are cut from; or what the ending writes,
        and then for each cell and row 0 if it is in doubt, else 1."""
        made = list(self._run(values))
        if self.ending is not None:
            return self.ending.whole(made)
        whole = [
            jnp.reshape(array, full_shape(cut.spec))
            for cut, array in zip(self.state, made, strict=False)
        ]
        return whole if self.flags is None else self._proven(whole, made[-1], values)

    def _proven(self, made: list[Any], flags: Any, values: Mapping[Value, Any]) -> list[Any]:
        """By the kernel for any GPU, which visits all that matters, if something is not proven."""

        def kept(made: list[Any], arrays: list[Any]) -> list[Any]:
            return made

        def again(made: list[Any], arrays: list[Any]) -> list[Any]:
            return self.usual(dict(zip(values, arrays, strict=True)))

        arrays = list(values.values())
        found: list[Any] = lax.cond((flags == 1).all(), kept, again, made, arrays)
        return found

    def _run(self, values: Mapping[Value, Any]) -> Sequence[Any]:
        leaves = zip(self.one.side.recipe.leaves, self.leaves, strict=True)
        given = [jnp.reshape(values[key[0]], cut.shape) for key, cut in leaves]
        scratch = self._scratch([array.dtype for array in given])
        if self.usual.watch is not None:
            given += self.usual.watch.arrays(values)
        if self.usual.plain is not None and self.plain is not None:
            given.append(jnp.asarray(self.usual.plain.bounds))
        outputs = [pallas.output(cut.shape, dtype) for cut, dtype in self.results]
        if self.flags is not None:
            outputs.append(pallas.output(self.flags.shape, np.float32))
        # Rows first: programs that run at the same time read the same columns.
        grid = (self.rows, *self.cell.count.values())
        names = ["row", *(f"cell_{k}" for k in range(len(self.cell.count)))]
        return mosaic.call(self._program, grid, names, outputs, scratch, GROUPS + 1)(*given)

    def _scratch(self, dtypes: Sequence[Any]) -> list[Any]:
        """Shared memory and barriers of a program, for leaves of these types."""
        d, width = self.widths
        keys = self._is_turned(self.masked.key), d
        values = self._is_turned(self.masked.value), width
        return [
            mosaic.shared((GROUPS, ROWS, d), dtypes[self.masked.query]),
            mosaic.shared((self.stages, *_shape(*keys)), dtypes[self.masked.key]),
            mosaic.shared((self.stages, *_shape(*values)), dtypes[self.masked.value]),
            mosaic.barriers(GROUPS),
            mosaic.barriers(self.stages),
            mosaic.barriers(self.stages),
            mosaic.barriers(self.stages, GROUPS),
            mosaic.barriers(self.stages, GROUPS),
            mosaic.barriers(1, GROUPS),
        ]

    def _is_turned(self, leaf: int) -> bool:
        """Do columns lie behind each other, not one in a row?"""
        return self.leaves[leaf].parts[-1][1] is not None

    def _program(self, refs: Sequence[Any], held: Sequence[Any]) -> None:
        program = _Program(self, refs, held)
        mosaic.when(program.group < GROUPS)(program.compute)
        mosaic.when(program.group == GROUPS)(program.copy)


def _shape(is_turned: bool, width: int) -> tuple[int, int]:
    return (width, COLUMNS) if is_turned else (COLUMNS, width)


def column_of(step: Any, first: Any, begin: Any, end: Any) -> Any:
    """Which tile of columns is visited in a step, of those from the first on: first those from
    `begin` to before `end`."""
    other = step - (end - begin)
    before = begin - first
    masked = jnp.where(other < before, first + other, end + other - before)
    return jnp.where(other < 0, begin + step, masked)


class _Program:
    """What one program does."""

    def __init__(self, kernel: HopperKernel, refs: Sequence[Any], held: Sequence[Any]) -> None:
        self.kernel, count = kernel, len(kernel.leaves)
        made = len(kernel.results) + (kernel.flags is not None)
        self.leaves, self.outputs = refs[:count], refs[len(refs) - made :]
        others = list(refs[count : len(refs) - made])
        plain = others.pop() if kernel.plain is not None else None
        self.live = others
        self.queries, self.keys, self.values = held[:3]
        self.query_is_there, self.key_is_there, self.value_is_there = held[3:6]
        self.key_is_free, self.value_is_free, self.turn = held[6:]
        self.group = mosaic.axis_index(mosaic.GROUP)
        number, watch = mosaic.axis_index("row"), kernel.usual.watch
        is_turned = watch is not None and watch.is_last_longest
        self.row = kernel.rows - 1 - number if is_turned else number
        cells = kernel.one.cell.count
        self.cells = {role: mosaic.axis_index(f"cell_{k}") for k, role in enumerate(cells)}
        first, last = self._visited()
        begin, end = (first, first) if plain is None else _within(plain, self.row, first, last)
        self.first, self.begin, self.end = first, begin, end
        self.plain_steps, self.steps = end - begin, last - first

    def _visited(self) -> tuple[Any, Any]:
        """The first tile of the row that may matter, and the one after the last."""
        if self.kernel.usual.watch is None:
            return jnp.int32(0), jnp.int32(self.kernel.columns)
        return self.live[0][0, self.row], self.live[0][1, self.row]

    def column(self, step: Any) -> Any:
        return column_of(step, self.first, self.begin, self.end)

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
        kernel, ending = self.kernel, self.kernel.ending
        place = Place({**self.cells, kernel.side.outer: self.first_row}, kernel.one.size)
        made = list(state) if ending is None else ending.made(state, place, rules(ROWS))
        flags = made.pop() if ending is not None and ending.is_checked else None
        for (cut, _), ref, array in zip(kernel.results, self.outputs, made, strict=False):
            self._write(ref, cut, place, array)
        if kernel.flags is not None:
            self._write(self.outputs[-1], kernel.flags, place, self._flags(state, flags))

    def _write(self, ref: Any, cut: Cut, place: Place, array: Any) -> None:
        at, _ = cut._at(place)
        queries = self.queries.at[self.group]
        if (array.shape, array.dtype) == (queries.shape, queries.dtype):
            mosaic.copy_out(array, queries, ref.at[tuple(at)])  # nobody needs them any more
        else:
            ref.at[tuple(at)][...] = array

    def _flags(self, state: State, usual: Any) -> Any:
        """For each row 1 if it is not in doubt, and if all tiles that were left out are proven to
        change nothing."""
        proofs = [] if usual is None else [usual]
        watch = self.kernel.usual.watch
        if watch is not None:
            needs, others = watch.needs(self.live, self.row)
            proofs += [_one(each) for each in others]
            pairs = zip(needs, self.kernel.side.accumulators, state, strict=True)
            for need, each, now in pairs:
                is_largest = isinstance(each, RunningMax)
                proofs.append(_one(now > need if is_largest else need < np.float32(0)))
        one = mosaic.laid(jnp.full((ROWS,), 1, np.float32), ROWS)
        return functools.reduce(jnp.multiply, proofs, one)


def _one(condition: Any) -> Any:
    """1 where that is so, else 0."""
    return jnp.where(condition, np.float32(1), np.float32(0))


def _within(plain: Any, row: Any, first: Any, last: Any) -> tuple[Any, Any]:
    """Of the tiles that are visited, the first that no mask cuts and the one after the last."""
    begin, end = (jnp.minimum(jnp.maximum(plain[k, row], first), last) for k in (0, 1))
    return begin, end
