"""What a step makes of its states as sums of products with named axes, as einsum has them.

A value is ``sum_i prod_j factor_ij``, each factor a value of the body whose axes have labels; over
labels that the result has not is summed. So ``k[:, None] * v[None] @ w`` is known by its factors k,
v, w however it is spelled. What does not depend on states is a factor itself, unless it is larger
than all of its own factors, as an outer product is, or some of them alone differ by step.
"""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value
from orchestrator_core.conductor.recurrence.factors import Factor, Sum, Term
from orchestrator_core.conductor.recurrence.multilinear_rules import FREE, RULES, Rule
from orchestrator_core.conductor.recurrence.parts import reached

MOST = 4
"""Terms of one sum."""

FIRST = 10
"""The first label; those before it are free for whoever adds axes."""


class Multilinear:
    """The values of one body.

    Args:
        body: of a loop. states: values that are factors and nothing else. ends: what is a state as
            well, as soon as it is made. varying: what differs by step.

    Attributes:
        moved: values that depend on states. made: what each of the ends is made of, if that is
            known.
    """

    def __init__(
        self,
        body: Graph,
        states: Sequence[Value],
        ends: Sequence[Value],
        varying: Sequence[Value],
    ) -> None:
        self._labels = itertools.count(FIRST)
        self._varying = reached(body, varying)
        self._known: dict[Value, Sum] = {}
        self.moved: set[Value] = set(states)
        self.made: dict[Value, Sum] = {}
        for state in states:
            self._known[state] = self._itself(state)
        for node in body.nodes:
            self._take(node, set(ends))

    def of(self, atom: Atom) -> Sum | None:
        """None of what depends on states in another way."""
        if isinstance(atom, Literal) or (atom not in self._known and atom not in self.moved):
            return self._itself(atom)
        return self._known.get(atom)

    def _take(self, node: Node, ends: set[Value]) -> None:
        if not self.moved.isdisjoint(i for i in node.inputs if isinstance(i, Value)):
            self.moved.update(node.outputs)
            found = self._made(node, RULES)
        else:
            found = self._made(node, FREE)
            if found is not None and not all(self._is_apart(each, node.output) for each in found):
                found = None
        if found is None:
            return
        self._known[node.output] = found
        if node.output in ends:
            self.made[node.output] = found
            self._known[node.output] = self._itself(node.output)

    def _made(self, node: Node, rules: Mapping[str, Rule]) -> Sum | None:
        rule = rules.get(node.name)
        given = [self.of(each) for each in node.inputs]
        if rule is None or len(node.outputs) != 1 or any(each is None for each in given):
            return None
        found = rule(self, node, [each for each in given if each is not None])
        return found if found and len(found) <= MOST else None

    def _itself(self, atom: Atom) -> Sum:
        labels = self.fresh(len(atom.shape))
        return (Term((Factor(atom, labels),), labels),)

    def fresh(self, count: int) -> tuple[int, ...]:
        return tuple(itertools.islice(self._labels, count))

    def depends(self, terms: Sum) -> bool:
        """Is any factor a state?"""
        return any(factor.value in self.moved for term in terms for factor in term.factors)

    def copies(self, term: Term) -> Term:
        """The same with new labels, so that no other term has one of them."""
        old = {label for each in term.factors for label in each.labels} | set(term.labels)
        names = dict(zip(sorted(old), self.fresh(len(old)), strict=True))
        return term.renamed(names, tuple(names[k] for k in term.labels))

    def _is_apart(self, term: Term, made: Value) -> bool:
        """Is a product larger than each of its factors, or do only some of them differ by step?"""
        values = [factor.value for factor in term.factors]
        differ = {value in self._varying for value in values if isinstance(value, Value)}
        return len(differ) == 2 or all(value.size < made.size for value in values)
