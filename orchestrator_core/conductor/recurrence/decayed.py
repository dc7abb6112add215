"""States that decay, chunk by chunk: what is left at each step of what was added in each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from orchestrator_core.conductor.recurrence.chunks import Chunks
from orchestrator_core.conductor.recurrence.einsum import Leaves, Operand, aligned, multiplied
from orchestrator_core.conductor.recurrence.factors import Factor
from orchestrator_core.conductor.recurrence.readings import State

CHUNK, TO, FROM = range(3)
"""Labels of chunks, and of the steps of one: where a state is read, and where something is added.
"""


@dataclass(frozen=True)
class Decayed:
    """A state in all chunks. Row r is after r steps of a chunk.

    Attributes:
        weights: (K + 1, chunks, K, ...) what is left of what step s has added. whole: (K + 1,
            chunks, ...) and of the state at the beginning; both without chunks if all are the same.
        labels: of their axes after the first.
        starts: (chunks, ...) states at the beginnings. last: after all chunks.
    """

    weights: Any
    whole: Any
    labels: tuple[tuple[int, ...], tuple[int, ...]]
    starts: Any = None
    last: Any = None

    def rows(self, is_after: bool) -> list[Operand]:
        """The weights, and those of the beginning, as reads after or before a step need them."""
        cut = slice(1, None) if is_after else slice(-1)
        pairs = zip((self.weights, self.whole), self.labels, strict=True)
        return [(array[cut], (TO, *labels)) for array, labels in pairs]

    @property
    def end(self) -> list[Operand]:
        pairs = zip((self.weights, self.whole), self.labels, strict=True)
        return [(array[-1], labels) for array, labels in pairs]


class Factors:
    """The factors, chunk by chunk, in the order in which the loop goes."""

    def __init__(self, leaves: Leaves, chunks: Chunks) -> None:
        self._leaves, self._chunks = leaves, chunks

    def at(self, factors: Sequence[Factor], step: int) -> list[Operand]:
        """As operands, with a label for steps."""
        return [self._at(factor, step) for factor in factors]

    def _at(self, factor: Factor, step: int) -> Operand:
        shape = (self._chunks.count, self._chunks.size)
        array, labels = self._leaves.operand(factor, (CHUNK, step), shape)
        is_turned = self._chunks.reverse and self._leaves.is_moving(factor)
        return (jnp.flip(array, 1) if is_turned else array), labels


def solved(state: State, factors: Factors, start: Any, chunks: Chunks) -> Decayed:
    """A state from chunk to chunk."""
    decayed = _weights(state, factors, chunks)
    shape = (chunks.count, *state.before.shape)
    (weights, labels), (whole, kept) = decayed.end
    added: Any = 0
    for term in state.added:
        operands = [(weights, labels), *factors.at(term.factors, FROM)]
        added = added + term.sign * multiplied(operands, (CHUNK, *state.labels), shape)
    decay = jnp.broadcast_to(
        aligned(whole, kept, (CHUNK, *state.labels)), (chunks.count, *thin(state))
    )

    def onward(now: Any, each: Any) -> Any:
        scale, more = each
        return (scale * now + more).astype(now.dtype), now

    given = jnp.asarray(start)
    last, starts = jax.lax.scan(onward, given, (decay, added), reverse=chunks.reverse)
    return Decayed(decayed.weights, decayed.whole, decayed.labels, starts, last)


def thin(state: State) -> tuple[int, ...]:
    """Of the shape of a state the axes along which decays differ."""
    sizes = zip(state.labels, state.before.shape, strict=True)
    return tuple(size if label in state.decaying else 1 for label, size in sizes)


def _weights(state: State, factors: Factors, chunks: Chunks) -> Decayed:
    """What is left after each step of a chunk of what was added in each."""
    size, dtype = chunks.size, state.before.dtype
    operands, along = factors.at(state.decay, TO), state.decaying
    moving = any(CHUNK in labels for _, labels in operands)
    first = (CHUNK,) if moving else ()
    if not operands and state.sign == 1:
        weights, whole = jnp.tri(size + 1, size, -1, dtype), jnp.ones(size + 1, dtype)
        return Decayed(weights, whole, ((FROM,), ()))
    sizes = dict(zip(state.labels, state.before.shape, strict=True))
    shape = (size, *((chunks.count,) if moving else ()), *(sizes[label] for label in along))
    decays = state.sign * multiplied(operands, (TO, *first, *along), shape).astype(dtype)
    kept = _products(jnp.moveaxis(decays, 0, len(first)), len(first))
    weights, whole = (jnp.moveaxis(each, len(first), 0) for each in kept)
    weights = jnp.concatenate([jnp.zeros_like(weights[:1]), weights])
    whole = jnp.concatenate([jnp.ones_like(whole[:1]), whole])
    return Decayed(weights, whole, ((*first, FROM, *along), (*first, *along)))


def _products(decays: Any, axis: int) -> tuple[Any, Any]:
    """Of steps along an axis, a power of two of them: after each step what is left of what was
    added in each, with an axis for that after it; and of what there was at first. By pairs of runs
    of steps that are twice as long at each turn.
    """
    size = decays.shape[axis]
    whole = jnp.expand_dims(decays, axis + 1)
    left = jnp.ones_like(jnp.expand_dims(whole, axis + 2))
    before = (slice(None),) * axis
    while whole.shape[axis] > 1:
        one, two = ((*before, slice(k, None, 2)) for k in (0, 1))
        end = (*one, slice(-1, None))
        later = left[end] * jnp.expand_dims(whole[two], axis + 2)
        rows = [
            jnp.concatenate([left[one], jnp.zeros_like(left[one])], axis + 2),
            jnp.concatenate([later, left[two]], axis + 2),
        ]
        left = jnp.concatenate(rows, axis + 1)
        whole = jnp.concatenate([whole[one], whole[two] * whole[end]], axis + 1)
    shape = decays.shape[:axis], decays.shape[axis + 1 :]
    return (
        left.reshape(*shape[0], size, size, *shape[1]),
        whole.reshape(*shape[0], size, *shape[1]),
    )
