"""What affine recurrences add and multiply with, so that one parallel scan does them all.

A step takes carries c to ``A c + b``. In each algebra a step is given as arrays (A, b) with the
step as leading axis, and two steps are one of the same kind.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.facts.affine import Kind, System
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.maps import Map, map_of
from orchestrator_core.conductor.recurrence.parts import piece, reached
from orchestrator_core.conductor.recurrence.semiring_values import PLUS, zero
from orchestrator_core.conductor.recurrence.semirings import Reading
from orchestrator_core.conductor.recurrence.tangents import without_stops

Arrays = Sequence[Any]

Numbers: TypeAlias = np.ndarray[Any, Any]

Step: TypeAlias = tuple[Any, Any]
"""A and b."""


class Algebra(Protocol):
    """Of one system of carries."""

    def step(self, given: Arrays) -> Step:
        """Of one step, from all inputs of its part but the carries."""

    def product(self, left: Step, right: Step) -> Step:
        """Both steps, the left one first, for many at once."""

    def begun(self, step: Step, start: Arrays) -> Any:
        """What a step makes of its start, as b."""

    def states(self, made: Any) -> list[Any]:
        """Each carry, from b of many steps."""

    def is_good(self, states: Arrays) -> Any:
        """Is none of the states one that only the loop is right about?"""


def algebra_of(scan: Scan, system: System, known: Sequence[Value]) -> Algebra:
    """That of a system.

    Args:
        known: carries that are known, whose values a step is given before its slices.
    """
    carries = [scan.carry_inputs[k] for k in system.carries]
    ends = [scan.carry_outputs[k] for k in system.carries]
    part = piece(
        without_stops(scan.body), [*scan.const_inputs, *carries, *known, *scan.x_inputs], ends
    )
    if system.kind in (Kind.TROPICAL, Kind.LOG_LINEAR):
        return Semiring(part, carries, _kind(part, carries, system.kind))
    return Scaled(part, carries) if system.is_elementwise else Dense(part, carries, scan, system)


def _kind(part: Graph, carries: Sequence[Value], kind: Kind) -> str:
    if kind is Kind.LOG_LINEAR:
        return "log"
    late = reached(part, carries)
    compared = (node.name for node in part.nodes if not late.isdisjoint(node.outputs))
    return "min" if "min" in compared else "max"


class _Part:
    """A step's part that makes some carries."""

    def __init__(self, part: Graph, carries: Sequence[Value]) -> None:
        self._part, self._carries = part, list(carries)

    def _at(self, given: Arrays) -> Callable[..., list[Any]]:
        """As a function of the carries alone."""
        others = dict(zip(self._others, given, strict=True))

        def step(*mine: Any) -> list[Any]:
            known = {**others, **dict(zip(self._carries, mine, strict=True))}
            return evaluate(self._part, [known[each] for each in self._part.inputs])

        return step

    @property
    def _others(self) -> list[Value]:
        return [each for each in self._part.inputs if each not in self._carries]

    def _zeros(self) -> list[Any]:
        return [jnp.zeros(each.shape, each.dtype) for each in self._carries]

    def is_good(self, states: Arrays) -> Any:
        """Infinity may come of a product that the loop never makes."""
        return jnp.all(jnp.stack([jnp.isfinite(each).all() for each in states]))


class Scaled(_Part):
    """Numbers, k carries whose elements are alone: A is (steps, k, k, ...), b (steps, k, ...)."""

    def step(self, given: Arrays) -> Step:
        step, zeros = self._at(given), self._zeros()
        columns = []
        for place in range(len(zeros)):
            ones = [jnp.ones_like(z) if k == place else z for k, z in enumerate(zeros)]
            columns.append(jnp.stack(jax.jvp(step, tuple(zeros), tuple(ones))[1]))
        return jnp.stack(columns, 1), jnp.stack(step(*zeros))

    def product(self, left: Step, right: Step) -> Step:
        (a, b), (c, d) = left, right
        count = a.shape[1]
        matrix = sum(c[:, :, j, None] * a[:, None, j] for j in range(count))
        return matrix, sum(c[:, :, j] * b[:, None, j] for j in range(count)) + d

    def begun(self, step: Step, start: Arrays) -> Any:
        a, b = step
        first = jnp.stack([jnp.broadcast_to(each, b.shape[1:]) for each in start])
        return b + (a * first[None]).sum(1)

    def states(self, made: Any) -> list[Any]:
        return [made[:, k] for k in range(len(self._carries))]


class Dense(_Part):
    """Numbers moved by a matrix of their own in each step: A is (steps, n, n), b (steps, n), of n
    elements of all carries together."""

    def __init__(self, part: Graph, carries: Sequence[Value], scan: Scan, system: System) -> None:
        super().__init__(part, carries)
        self._scan, self._system = scan, system

    def step(self, given: Arrays) -> Step:
        step, zeros = self._at(given), self._zeros()
        columns: Map = map_of(self._scan, self._system).after(step, zeros)
        rows = [each.reshape(each.shape[0], -1) for each in columns.columns]
        return jnp.concatenate(rows, 1).T, _flat(step(*zeros))

    def product(self, left: Step, right: Step) -> Step:
        (a, b), (c, d) = left, right
        return c @ a, jnp.einsum("tij,tj->ti", c, b) + d

    def begun(self, step: Step, start: Arrays) -> Any:
        a, b = step
        return a @ _flat(start) + b

    def states(self, made: Any) -> list[Any]:
        cuts = np.cumsum([each.size for each in self._carries])[:-1]
        parts = jnp.split(made, cuts, 1)
        return [x.reshape(-1, *v.shape) for x, v in zip(parts, self._carries, strict=True)]


def _flat(arrays: Arrays) -> Any:
    return jnp.concatenate([jnp.ravel(each) for each in arrays])


class Semiring(_Part):
    """Max-plus, min-plus or log space; arrays as of `Scaled`.

    Raises:
        NotImplementedError: if the body is not read as that, or does something else with random
            numbers.
    """

    def __init__(self, part: Graph, carries: Sequence[Value], kind: str) -> None:
        super().__init__(part, carries)
        self._kind, self._plus, self._zero = kind, PLUS[kind], zero(kind)
        tried = list(self._tried())
        if not any(np.isfinite(own).any() for own, _ in tried) or not self._is_read(tried):
            raise NotImplementedError(f"something else than what is read as {kind}")
        nothings = [own[read == self._zero] == self._zero for own, read in tried]
        self._may_be_nothing = all(each.all() for each in nothings)

    def step(self, given: Arrays) -> Step:
        known = dict(zip(self._others, given, strict=True))
        made = Reading(self._part, self._carries, self._kind).of(known, self._part.outputs)
        scales = [jnp.stack([self._filled(x) for x in each.scales]) for each in made]
        return jnp.stack(scales), jnp.stack([self._filled(each.rest) for each in made])

    def _filled(self, part: Any) -> Any:
        shape, dtype = self._carries[0].shape, self._carries[0].dtype
        return jnp.full(shape, self._zero, dtype) if part is None else jnp.broadcast_to(part, shape)

    def product(self, left: Step, right: Step) -> Step:
        (a, b), (c, d) = left, right
        places = range(a.shape[1])
        matrix = self._sum([c[:, :, j, None] + a[:, None, j] for j in places])
        return matrix, self._sum([*(c[:, :, j] + b[:, None, j] for j in places), d])

    def _sum(self, parts: Arrays) -> Any:
        made = parts[0]
        for each in parts[1:]:
            made = self._plus(made, each)
        return made

    def begun(self, step: Step, start: Arrays) -> Any:
        a, b = step
        first = [jnp.broadcast_to(each, b.shape[1:]) for each in start]
        return self._sum([*(a[:, j] + each for j, each in enumerate(first)), b])

    def states(self, made: Any) -> list[Any]:
        return [made[:, k] for k in range(len(self._carries))]

    def is_good(self, states: Arrays) -> Any:
        """Nothing, as infinity on one side, is a number here, if the loop itself has it so: what
        takes off a maximum of nothing may make NaN of it, or whatever is chosen instead of that."""
        if not self._may_be_nothing:
            return super().is_good(states)
        return jnp.all(
            jnp.stack([(jnp.isfinite(each) | (each == self._zero)).all() for each in states])
        )

    def _tried(self) -> Iterator[tuple[Numbers, Numbers]]:
        """What a step makes of random numbers, some of them nothing, and what is read of it."""
        random = np.random.default_rng(11)

        def both(carry: list[Any], given: list[Any]) -> Any:
            return jnp.stack(self._at(given)(*carry)), self.begun(self.step(given), carry)

        run = jax.jit(both)
        with _jax.no_trace():
            for share in SHARES:
                carry, given = (
                    [self._random(random, each, share) for each in values]
                    for values in (self._carries, self._others)
                )
                own, read = run(carry, given)
                yield np.asarray(own, np.float64), np.asarray(read, np.float64)

    def _random(self, random: np.random.Generator, value: Value, share: float) -> Any:
        if not jnp.issubdtype(value.dtype, jnp.inexact):
            return jnp.asarray(random.integers(0, 2, value.shape), value.dtype)
        is_nothing = random.random(value.shape) < share
        numbers = np.where(is_nothing, self._zero, 3 * random.normal(size=value.shape))
        return jnp.asarray(numbers, value.dtype)

    def _is_read(self, tried: Sequence[tuple[Numbers, Numbers]]) -> bool:
        """Is what is read what the loop makes? Where one is infinite, it may have overflowed; where
        nothing is read, `is_good` has to know."""
        info: Any = jnp.finfo
        eps = float(info(self._carries[0].dtype).eps)
        for own, read in tried:
            known = ~np.isinf(own) & np.isfinite(read)
            one, other = own[known], read[known]
            if not (np.abs(one - other) <= 64 * eps * (1 + np.abs(one))).all():
                return False
        return True


SHARES = (*(0.0,) * 3, *(0.5,) * 8, 1.0)
"""Sets of random numbers that are tried: which part of them is nothing."""
