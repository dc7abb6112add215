"""Loops whose steps all do the same to states and read them alike."""

from __future__ import annotations

import math
from collections.abc import Sequence

from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.recurrence.factors import Factor, Term
from orchestrator_core.conductor.recurrence.readings import Readings, State

TYPES = ("float32", "float64", "complex64", "complex128")
"""What can be transformed."""


def is_for_convolution(found: Readings) -> bool:
    """Do all steps do the same to states and read them alike, and are states larger than what goes
    in and out?"""
    states = all(_is_invariant(found, state) for state in found.states)
    return states and all(
        _is_read_alike(found, value, term) for value, terms in found.read.items() for term in terms
    )


def _is_invariant(found: Readings, state: State) -> bool:
    if str(state.before.dtype) not in TYPES or any(found.is_moving(f.value) for f in state.decay):
        return False
    pairs = zip(state.labels, state.given, strict=True)
    mixed = [out for out, into in pairs if out != into]
    moving = [f for t in state.added for f in t.factors if found.is_moving(f.value)]
    sizes = dict(zip(state.labels, state.before.shape, strict=True))
    small = all(
        math.prod(sizes.get(k, 1) for k in _held(t.factors, found)) < state.before.size
        for t in state.added
    )
    plain = all(set(mixed).isdisjoint(f.labels) for f in moving)
    return len(mixed) <= 1 and plain and small and _is_one_matrix(state, mixed)


def _is_one_matrix(state: State, mixed: Sequence[int]) -> bool:
    """Is what moves a state one matrix along one axis?"""
    into = [k for k in state.given if k not in state.labels]
    held = {k for factor in state.decay for k in factor.labels}
    return not mixed or {*mixed, *into} <= held


def _held(factors: Sequence[Factor], found: Readings) -> set[int]:
    """The labels of those that differ by step."""
    return {k for f in factors if found.is_moving(f.value) for k in f.labels}


def _is_read_alike(found: Readings, value: Value, term: Term) -> bool:
    state = found.state_of(term)
    if state is None:
        return True
    others = [f for f in term.factors if f is not state[1]]
    fixed = not any(found.is_moving(factor.value) for factor in others)
    return fixed and value.size < state[0].before.size
