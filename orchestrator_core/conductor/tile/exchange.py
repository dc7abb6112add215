"""R3: a sum of products of two sums, with the order of summation exchanged.

``sum_j A_ij (sum_d U_id W_jd) = sum_d U_id (sum_j A_ij W_jd)``. If the second bracket is
accumulated anyway, the first sum needs no pass. So the row sums of ``dP * P`` in the backward of
attention are found to be those of ``dO * O``, as in Dao et al., "FlashAttention" (2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from orchestrator_core.conductor.facts.axes import roles
from orchestrator_core.conductor.facts.transfer.products import Sides
from orchestrator_core.conductor.facts.transfer.views import RESHAPES
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal
from orchestrator_core.conductor.tile.hoist import IsKnown, is_cast, product_of
from orchestrator_core.conductor.tile.plans import Exchange, Label, Labels, Plan
from orchestrator_core.conductor.tile.recipe import Wanted
from orchestrator_core.conductor.tile.region import Boundary, Region
from orchestrator_core.conductor.tile.sole import sole_of
from orchestrator_core.conductor.tile.terms import Product, Term, labelled

Highest: TypeAlias = Callable[[Sequence[Wanted]], int]


def exchanged(
    region: Region,
    boundary: Boundary,
    plans: Mapping[Node, Plan],
    highest: Highest,
    is_known: IsKnown,
) -> Plan | None:
    """The plan of a sum that can be read off another one; None if there is none.

    Args:
        is_known: in the pass of the other sum.
    """
    if boundary.node.name != "reduce_sum" or isinstance(boundary.node.inputs[0], Literal):
        return None
    (role,) = boundary.reduced
    value, spec = boundary.node.inputs[0], boundary.inputs[0]
    product = product_of(region, value, spec, role, is_known)
    for inner in product.terms:
        rest = tuple(term for term in product.terms if term is not inner)
        view = _view(region, boundary, inner, rest)
        found = view and _read_off(region, boundary, view, plans)
        if found:
            plan = plans[found.source]
            left = Product(product.factors, rest)
            needs: list[Wanted] = [*left.outside]
            known = max(plan.known, highest(needs), highest(_as_wanted(found.other)))
            return Plan(boundary, plan.level, known, (left,), found)
    return None


def _as_wanted(atom: Atom) -> list[Wanted]:
    return [atom] if isinstance(atom, Literal) else [(atom, ())]


@dataclass(frozen=True)
class _View:
    """A summand ``A * (U . W)``, with labels for axes.

    Attributes:
        core: the terms of A, each with labels. summand: labels of the summand's axes.
        summed: the label that is summed. w, u: the factors of the product, with labels; those
            that are contracted between them begin with ``c``.
    """

    core: tuple[tuple[Term, Labels], ...]
    summand: Labels
    summed: str
    w: tuple[Atom, Labels]
    u: tuple[Atom, Labels]


def _view(region: Region, boundary: Boundary, inner: Term, rest: tuple[Term, ...]) -> _View | None:
    node, summand = region.flow.node_of(inner.value), _summand(boundary)
    if inner.is_exponential or node is None or node.name != "dot_general" or not rest:
        return None
    core = [(term, _within(term, summand)) for term in rest]
    out = _within(inner, summand)
    summed = {summand[k] for k in boundary.node.params["axes"]} - {None}
    if out is None or len(summed) != 1 or any(labels is None for _, labels in core):
        return None
    sides = _operand_labels(node, out)
    with_summed = [side for side in (0, 1) if not summed.isdisjoint(sides[side])]
    if len(with_summed) != 1:
        return None
    (label,), (w,) = summed, with_summed
    factors = [(each, sides[side]) for side, each in enumerate(node.inputs)]
    known = tuple((term, labels) for term, labels in core if labels is not None)
    return _View(known, summand, str(label), factors[w], factors[1 - w])


def _summand(boundary: Boundary) -> Labels:
    shape = boundary.node.inputs[0].shape
    return [f"x{k}" if size != 1 else None for k, size in enumerate(shape)]


def _within(term: Term, summand: Labels) -> Labels | None:
    """The summand's labels on the axes of one of its terms; None if a view cuts an axis."""
    shape = term.value.shape
    at = labelled(term.path, [k if d != 1 else None for k, d in enumerate(shape)])
    if at is None:
        return None
    to = {a: b for a, b in zip(at, summand, strict=True) if a is not None}
    return [to.get(k) if d != 1 else None for k, d in enumerate(shape)]


def _operand_labels(node: Node, out: Labels) -> list[Labels]:
    """Of both operands of a product, from those of its result."""
    sides = Sides.of(node)
    inner: list[Labels] = [[None] * len(each.shape) for each in node.inputs]
    for number, (p, q) in enumerate(zip(*sides.contracted, strict=True)):
        inner[0][p] = inner[1][q] = f"c{number}"
    return sides.back(out, inner)


def _read_off(
    region: Region, boundary: Boundary, view: _View, plans: Mapping[Node, Plan]
) -> Exchange | None:
    """Where ``sum_j A_ij W_jd`` is accumulated."""
    w = _root(region, *view.w)
    for plan, side, labels in _accumulated(view, plans):
        sides, other = Sides.of(plan.node), 1 - side
        if [labels[k] for k in sides.contracted[side]] != [view.summed]:
            continue
        theirs: Labels = [None] * len(plan.node.inputs[other].shape)
        for pair in sides.paired():
            theirs[pair[other]] = labels[pair[side]]
        for number, k in enumerate(sides.free[other]):
            theirs[k] = f"f{number}"
        names = _same(w, _root(region, plan.node.inputs[other], theirs))
        if names is None or len(names) != len(sides.free[other]):
            continue
        mine = [labels[k] for k in sides.free[side]]
        free: Labels = [names[f"f{number}"] for number in range(len(names))]
        batch = [labels[k] for k in sides.batch[side]]
        source = batch + (mine + free if side == 0 else free + mine)
        found = _checked(boundary, view, plan, source, set(names.values()), plans)
        if found is not None:
            return found
    return None


def _accumulated(view: _View, plans: Mapping[Node, Plan]) -> Iterator[tuple[Plan, int, Labels]]:
    """The products that are summed whose one operand is A; with that operand's labels."""
    for plan in plans.values():
        if plan.node.name != "dot_general" or plan.exchange is not None:
            continue
        for side, product in enumerate(plan.products):
            if len(roles(plan.boundary.inputs[side])) < 2:
                continue
            labels = _matched(view, product)
            if labels is not None:
                yield plan, side, labels


def _matched(view: _View, product: Product) -> Labels | None:
    """The labels of an operand that is A; None if it is another one."""
    left, made = list(view.core), list[Labels]()
    for term in product.terms:
        found = next((pair for pair in left if pair[0].looks == term.looks), None)
        labels = None if found is None else labelled(term.path, found[1])
        if found is None or labels is None:
            return None
        left.remove(found)
        made.append(labels)
    if left or not made:
        return None
    axes = [{label for label in axis if label is not None} for axis in zip(*made, strict=True)]
    return None if any(len(axis) > 1 for axis in axes) else [next(iter(a), None) for a in axes]


def _root(region: Region, atom: Atom, labels: Labels) -> tuple[Atom, Labels]:
    """What a value is a view of, with labels for its axes."""
    while (node := region.flow.node_of(atom)) is not None:
        given = node.inputs[0] if node.inputs else None
        if given is None:
            break
        if node.name in RESHAPES and _real(given.shape) == _real(node.output.shape):
            left = iter([x for x, d in zip(labels, node.output.shape, strict=True) if d != 1])
            labels = [next(left) if d != 1 else None for d in given.shape]
        elif node.name == "transpose":
            back = list(node.params["permutation"])
            labels = [labels[back.index(k)] for k in range(len(labels))]
        elif not is_cast(node):
            break
        atom = given
    return atom, labels


def _real(shape: Sequence[int]) -> list[int]:
    return [d for d in shape if d != 1]


def _same(mine: tuple[Atom, Labels], theirs: tuple[Atom, Labels]) -> dict[str, str] | None:
    """Are both the same value? Then their free labels, by name, as my contracted ones."""
    if mine[0] is not theirs[0]:
        return None
    names: dict[str, str] = {}
    for a, b in zip(mine[1], theirs[1], strict=True):
        if a is not None and b is not None and a[0] == "c" and b[0] == "f":
            names[b] = a
        elif a != b:
            return None
    return names


def _checked(
    boundary: Boundary,
    view: _View,
    plan: Plan,
    source: Labels,
    contracted: set[str],
    plans: Mapping[Node, Plan],
) -> Exchange | None:
    """Do all axes of the two factors end in the result, but those contracted? And is there, if A is
    an exponential, its own sum, to tell where one element of it is all that counts?"""
    axes = set(boundary.node.params["axes"])
    out: tuple[Label, ...] = tuple(x for k, x in enumerate(view.summand) if k not in axes)
    other, labels = view.u
    given, made = (set(labels) | set(source)) - {None}, set(out) - {None}
    if made - given or given - made - contracted:
        return None
    sole = sole_of(boundary, view.core, out, plans)
    if sole is None and any(term.is_exponential for term, _ in view.core):
        return None
    return Exchange(plan.node, other, tuple(labels), tuple(source), out, sole)
