"""Loops that read their states by sums of products alone: what each state is made of, and how it is
read.

A state is scaled by decays, and products are added; what a step returns is computed of sums of
products in which a state is one factor. Nothing else may look at a state.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from orchestrator_core.conductor.ir.scan import Scan
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.factors import Factor, Sum, Term
from orchestrator_core.conductor.recurrence.multilinear import Multilinear
from orchestrator_core.conductor.recurrence.parts import reached


@dataclass(frozen=True)
class State:
    """Attributes:
    place: among the carries. before, after: a step.
    decay: the factors that it is scaled by; empty if by none. sign: and whether it is negative.
    labels: of its axes, and in `given` of the axes of it before the step: the same unless a matrix
        moves it.
    added: what is added.
    """

    place: int
    before: Value
    after: Value
    decay: tuple[Factor, ...]
    sign: int
    labels: tuple[int, ...]
    given: tuple[int, ...]
    added: Sum

    @property
    def is_elementwise(self) -> bool:
        return self.labels == self.given

    @property
    def decaying(self) -> tuple[int, ...]:
        """The labels along which decays differ."""
        held = {label for factor in self.decay for label in factor.labels}
        return tuple(label for label in self.labels if label in held)


@dataclass(frozen=True)
class Readings:
    """Attributes:
    states: of a loop. read: values of its body as sums of products, of which all else that
        depends on states is computed.
    """

    scan: Scan
    states: tuple[State, ...]
    read: Mapping[Value, Sum]

    def state_of(self, term: Term) -> tuple[State, Factor] | None:
        """Which state a term reads, and as which factor."""
        for factor in term.factors:
            for state in self.states:
                if factor.value in (state.before, state.after):
                    return state, factor
        return None

    @property
    def factors(self) -> list[Factor]:
        """All that are no states."""
        sums = [*self.read.values(), *(state.added for state in self.states)]
        found = [factor for terms in sums for term in terms for factor in term.factors]
        found += [factor for state in self.states for factor in state.decay]
        states = {value for state in self.states for value in (state.before, state.after)}
        return [factor for factor in found if factor.value not in states]

    def is_moving(self, atom: Atom) -> bool:
        """Does it differ by step?"""
        return atom in reached(self.scan.body, self.scan.x_inputs)


def readings(scan: Scan) -> Readings | None:
    """Of a loop of which all that is proven; else None."""
    ends = [each for each in scan.carry_outputs if isinstance(each, Value)]
    inside = {output for node in scan.body.nodes for output in node.outputs}
    if len({*ends}) < len(scan.carry) or not inside.issuperset(ends):
        return None
    known = Multilinear(scan.body, scan.carry_inputs, ends, scan.x_inputs)
    states = [_state(known, scan, place, end) for place, end in enumerate(ends)]
    found = tuple(state for state in states if state is not None)
    read = _read(known, scan) if len(found) == len(states) else None
    made = None if read is None else Readings(scan, found, read)
    return made if made is not None and _counts(made) else None


def _state(known: Multilinear, scan: Scan, place: int, end: Value) -> State | None:
    """What a state is made of: itself in one term, no other state in any."""
    terms, before = known.made.get(end), scan.carry_inputs[place]
    if terms is None:
        return None
    mine = [t for t in terms if any(f.value in known.moved for f in t.factors)]
    if len(mine) != 1 or len(terms) < 2:
        return None
    (term,) = mine
    states = [factor for factor in term.factors if factor.value in known.moved]
    decay = tuple(factor for factor in term.factors if factor not in states)
    if [factor.value for factor in states] != [before] or states[0].is_inverse:
        return None
    added = tuple(_along(term.labels, each) for each in terms if each is not term)
    return State(place, before, end, decay, term.sign, term.labels, states[0].labels, added)


def _along(labels: tuple[int, ...], term: Term) -> Term:
    """The term with these labels of its axes."""
    return term.renamed(dict(zip(term.labels, labels, strict=True)), labels)


def _read(known: Multilinear, scan: Scan) -> dict[Value, Sum] | None:
    """What is read of states; None if something reads them otherwise, or nothing does."""
    wanted: list[Atom] = list(scan.y_outputs)
    for node in scan.body.nodes:
        if not any(known.of(output) for output in node.outputs):
            wanted += node.inputs
    found: dict[Value, Sum] = {}
    for each in wanted:
        if not isinstance(each, Literal) and each in known.moved:
            terms = known.of(each)
            if terms is not None:
                found[each] = terms
    return found if found else None


def _counts(found: Readings) -> bool:
    """Where a read sums over an axis of a state, does one of the factors have that axis, whatever
    the state is replaced by? An einsum does not know how many elements one that nobody has had."""
    for term in (term for terms in found.read.values() for term in terms):
        read = found.state_of(term)
        if read is None:
            continue
        state, mine = read
        beside = _held(factor for factor in term.factors if factor is not mine)
        for own, label in zip(state.labels, mine.labels, strict=True):
            if label in term.labels or label in beside or own in _held(state.decay):
                continue
            if any(own not in _held(added.factors) for added in state.added):
                return False
    return True


def _held(factors: Iterable[Factor]) -> set[int]:
    """The labels that some factor has."""
    return {label for factor in factors for label in factor.labels}
