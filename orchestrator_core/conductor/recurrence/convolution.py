"""Time-invariant recurrences as convolutions, by fast Fourier transforms.

``S_t = A S_{t-1} + b u_t`` read by ``y_t = C S_t`` is ``y_t = sum_s K_s u_{t-s}`` with the kernel
``K_s = C A^s b`` (A. Gu et al., "Efficiently modeling long sequences with structured state spaces",
2021). The transforms' error is the same at all steps, however small y is there:
- about ``7 eps sqrt(log2(2 T)) (norm(K) rms(u) + rms(y))``, as if all roundings were chance. It
  must be below 84 eps, which are 1e-5 in 32 bits, of the largest y;
- at most about ``4 eps log2(2 T) max|FFT(K)| rms(u)``. In each eighth of the steps the largest y
  must be 1000 times that.
Else, or where anything is not finite, the loop runs as it was.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.usual import chosen_by_use
from orchestrator_core.conductor.recurrence.chunks import whole
from orchestrator_core.conductor.recurrence.einsum import Leaves, Operand, multiplied, results
from orchestrator_core.conductor.recurrence.factors import Factor, Term
from orchestrator_core.conductor.recurrence.readings import Readings, State
from orchestrator_core.conductor.recurrence.series import STEP, Series
from orchestrator_core.conductor.recurrence.splice import spliced

Arrays = Sequence[Any]

PARTS = 8
"""In each of so many parts of the steps, what is made must be well above the transforms' error."""

ABOVE = 1000.0
"""And by so many times."""

WITHIN = 12.0
"""So much of the largest result, in units of seven times the rounding, may be the error that is
expected. Of 252 convolutions of kernels that fade or ring with noise, waves, steps and spikes those
that passed were within 5e-6."""


def in_frequencies(graph: Graph, node: Node, found: Readings, *, is_guarded: bool = True) -> Graph:
    """The graph in which convolutions do what the loop did.

    Args:
        is_guarded: False to leave out what happens where they are not exact enough, for pricing.
    """
    convolved = _Convolved(found, is_guarded)
    return spliced(graph, convolved.run, list(node.inputs), list(node.outputs), node.source)


@dataclass(frozen=True)
class _Input:
    """What is added to a state: in each step, and what is the same in all.

    Attributes:
        moving: (steps, ...). fixed: the factors of the rest. sign: of the product.
    """

    moving: Operand
    fixed: tuple[Factor, ...]
    sign: int


class _Convolved:
    """One loop."""

    def __init__(self, found: Readings, is_guarded: bool) -> None:
        self._found, self._scan, self._is_guarded = found, found.scan, is_guarded
        self._length = found.scan.length
        self._good: list[Any] = []

    def run(self, *arrays: Any) -> list[Any]:
        """What the loop makes."""
        scan, first = self._scan, len(self._scan.consts)
        consts, carry = arrays[:first], arrays[first:][: len(scan.carry)]
        xs = arrays[first + len(scan.carry) :]
        made = self._made(consts, carry, xs)
        if not self._is_guarded:
            return made
        finite = [jnp.isfinite(each).all() for each in made]
        good = jnp.all(jnp.stack([*finite, *self._good]))

        return chosen_by_use(good, lambda: made, lambda: whole(scan, consts, carry, xs))

    def _made(self, consts: Arrays, carry: Arrays, xs: Arrays) -> list[Any]:
        leaves = Leaves(self._found, consts, xs)
        states = {
            state: _Solved(self._found, state, leaves, carry[state.place])
            for state in self._found.states
        }
        read = {}
        for value, terms in self._found.read.items():
            shape = (self._length, *value.shape)
            parts = [self._read(term, leaves, states, shape) for term in terms]
            read[value] = sum(parts[1:], parts[0]).astype(value.dtype)
        last = [states[state].last() for state in self._found.states]
        return [*last, *results(self._found, consts, xs, read)]

    def _read(
        self, term: Term, leaves: Leaves, states: dict[State, _Solved], shape: tuple[int, ...]
    ) -> Any:
        """A term of a value that is read, in each step."""
        found, labels = self._found.state_of(term), (STEP, *term.labels)
        if found is None:
            operands = [leaves.operand(f, (STEP,), (self._length,)) for f in term.factors]
            return term.sign * multiplied(operands, labels, shape)
        state, mine = found
        names = dict(zip(mine.labels, state.labels, strict=True))
        reads = Term(tuple(f for f in term.factors if f is not mine), term.labels)
        reads = reads.renamed(names, tuple(names.get(k, k) for k in term.labels))
        made, goods = states[state].read(reads, shape, is_after=mine.value is state.after)
        self._good += goods
        return term.sign * made


class _Solved:
    """One state."""

    def __init__(self, found: Readings, state: State, leaves: Leaves, start: Any) -> None:
        self._state, self._leaves, self._start = state, leaves, start
        self._scan = found.scan
        self._length = found.scan.length
        self._series = Series(state, leaves, self._length)
        self._inputs = [self._input(term) for term in state.added]

    def _input(self, term: Term) -> _Input:
        moving = tuple(f for f in term.factors if self._leaves.is_moving(f))
        fixed = tuple(f for f in term.factors if f not in moving)
        others = {k for f in fixed for k in f.labels} | set(self._state.labels)
        operands = [self._leaves.operand(f, (STEP,), (self._length,)) for f in moving]
        if not operands:
            return _Input((jnp.ones(self._length, self._state.before.dtype), (STEP,)), fixed, 1)
        sizes = {k: n for a, mine in operands for k, n in zip(mine, a.shape, strict=True)}
        labels = [k for k in sizes if k == STEP or k in others]
        array = multiplied(operands, labels, [sizes[k] for k in labels])
        array = jnp.flip(array, 0) if self._scan.reverse else array
        return _Input((array, tuple(labels)), fixed, term.sign)

    def read(self, term: Term, shape: tuple[int, ...], *, is_after: bool) -> tuple[Any, list[Any]]:
        """A product with this state, in each step; and whether that is exact enough.

        Args:
            term: the other factors, which all steps share.
        """
        reads = [self._leaves.operand(each, (), ()) for each in term.factors]
        reads = self._series.read_by(reads)
        cut = slice(1, None) if is_after else slice(-1)
        start = [(a[cut], mine) if mine[:1] == (STEP,) else (a, mine) for a, mine in reads]
        start.append((self._start, self._state.labels))
        made, good = multiplied(start, (STEP, *term.labels), shape), list[Any]()
        for each in self._inputs:
            more, is_good = self._convolved(each, reads, term, shape, is_after)
            made, good = made + each.sign * more, [*good, is_good]
        return (jnp.flip(made, 0) if self._scan.reverse else made), good

    def _convolved(
        self,
        given: _Input,
        reads: list[Operand],
        term: Term,
        shape: tuple[int, ...],
        is_after: bool,
    ) -> tuple[Any, Any]:
        array, mine = given.moving
        operands = [*reads, *(self._leaves.operand(each, (), ()) for each in given.fixed)]
        sizes = {k: n for a, its in operands for k, n in zip(its, a.shape, strict=True)}
        kept = [k for k in sizes if k != STEP and (k in term.labels or k in mine)]
        kernel = multiplied(operands, (STEP, *kept), [self._length + 1, *(sizes[k] for k in kept)])
        kernel = kernel[:-1] if is_after else jnp.roll(kernel, 1, 0).at[0].set(0)[:-1]
        made, good, labels = _convolved(kernel, kept, array, mine[1:], term.labels)
        return multiplied([(made, (STEP, *labels))], (STEP, *term.labels), shape), good

    def last(self) -> Any:
        """The state after all steps."""
        state, shape = self._state, self._state.before.shape
        end = self._series.of_operands([(self._start, state.labels)])
        ends = [(a[-1], mine[1:]) if mine[:1] == (STEP,) else (a, mine) for a, mine in end]
        made = multiplied(ends, state.labels, shape)
        for each in self._inputs:
            back = [
                (a[-2::-1], mine) if mine[:1] == (STEP,) else (a, mine)
                for a, mine in self._series.of(each.fixed)
            ]
            made = made + each.sign * multiplied([*back, each.moving], state.labels, shape)
        return made.astype(state.before.dtype)


def _convolved(
    kernel: Any,
    kept: Sequence[int],
    array: Any,
    mine: Sequence[int],
    wanted: Sequence[int],
) -> tuple[Any, Any, list[int]]:
    """The causal convolution along axis 0, whether it is exact enough, and the labels of its other
    axes.

    Args:
        kept, mine: labels of the other axes of the kernel and the array. wanted: which to keep.
    """
    size = 2 ** math.ceil(math.log2(2 * len(array)))
    is_real = not any(jnp.iscomplexobj(each) for each in (kernel, array))
    to, back = (jnp.fft.rfft, jnp.fft.irfft) if is_real else (jnp.fft.fft, jnp.fft.ifft)
    first, second = to(kernel, size, 0), to(array, size, 0)
    sizes = {
        **dict(zip(kept, kernel.shape[1:], strict=True)),
        **dict(zip(mine, array.shape[1:], strict=True)),
    }
    labels = [k for k in sizes if k in wanted]
    shape = [sizes[k] for k in labels]
    pair = [(first, (STEP, *kept)), (second, (STEP, *mine))]
    made = back(multiplied(pair, (STEP, *labels), (len(first), *shape)), size, 0)[: len(array)]
    eps = float(jnp.finfo(kernel.dtype).eps)  # type: ignore[no-untyped-call]

    def beside(of_kernel: Any) -> Any:
        """Of each kernel times the size of what it meets."""
        rms = jnp.sqrt((jnp.abs(array) ** 2).mean(0))
        return multiplied([(of_kernel, tuple(kept)), (rms, tuple(mine))], labels, shape)

    depth = math.log2(size)
    most = 4 * eps * depth * beside(jnp.abs(first).max(0))
    usual = beside(jnp.sqrt((jnp.abs(kernel) ** 2).sum(0)))
    return made, _is_above(made, most) & _is_within(made, usual, depth), labels


def _is_above(made: Any, error: Any) -> Any:
    """Is what is made well above the error, in each part of the steps?"""
    parts = [part for part in jnp.array_split(made, PARTS) if len(part)]
    return jnp.all(jnp.stack([(jnp.abs(part).max(0) >= ABOVE * error).all() for part in parts]))


def _is_within(made: Any, usual: Any, depth: float) -> Any:
    """Is the error that is to be expected small beside the largest of what is made?

    Args:
        usual: what goes into the transforms. depth: how often they round.
    """
    rms = jnp.sqrt((jnp.abs(made) ** 2).mean(0))
    return (math.sqrt(depth) * (usual + rms) <= WITHIN * jnp.abs(made).max(0)).all()
