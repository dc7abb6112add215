"""Exponentials of masked scores and their sums over all keys.

What is subtracted from an exponent must not change along the keys, and what a mask sets must be so
small that its exponential is zero; where that is not certain from the program, `Mask.fill` says
what is to be asked when it runs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.conductor.facts.axes import Axis, Role, Spec, Untileable, roles
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.kernels.attention.mask import Mask, window_of
from orchestrator_core.conductor.kernels.attention.reading import Other, Reading, parts_of

KEYS: Role = "keys"
"""The role of the axis that is summed; others have the number of an axis of the exponentials."""

LEAST_FILL = -1e4
"""What a mask sets scores to is at most this; scores that are as low are looked for at run time."""


@dataclass(frozen=True)
class Softmax:
    """Attributes:
    exponentials, sums: of scores; the sums over all keys. product: the scores, not scaled.
    q, k: what they are products of; the axis that these are multiplied along has no role.
    scale: of the scores. mask: None if each query sees all keys; `which` is its truth values.
    query: the role of queries. heads: of what queries and keys share, in the order of `q`.
    group: of heads of queries that share keys; None if each has its own.
    """

    exponentials: Key
    sums: Key
    product: Key
    q: Key
    k: Key
    scale: float
    mask: Mask | None
    which: Key | None
    query: Role
    heads: tuple[Role, ...]
    group: Role | None

    @property
    def of_queries(self) -> frozenset[Role]:
        """What queries have and keys have not."""
        return frozenset((self.query,) if self.group is None else (self.query, self.group))

    @property
    def pairwise(self) -> frozenset[Role]:
        return frozenset((self.query, KEYS))


def softmax_of(reading: Reading, total: Node) -> Softmax | None:
    """Of a sum: what it is, if it is of exponentials of scores."""
    if total.name != "reduce_sum":
        return None
    try:
        return _softmax(reading, total)
    except (Other, Untileable):
        return None


def _softmax(reading: Reading, total: Node) -> Softmax:
    spec = _spec_of_terms(total)
    (terms,) = total.inputs
    if not isinstance(terms, Value):
        raise Other
    exponentials = reading.origin((terms, spec))
    (exponent,) = reading.values(reading.node(exponentials, "exp"), exponentials[1])
    scores = _without_shift(reading, exponent)
    which, fill, scores = _masked(reading, scores)
    product, scale = _scaled(reading, scores)
    made = reading.node(product, "dot_general")
    first, second = (reading.origin(each) for each in reading.values(made, product[1]))
    q, k = (second, first) if KEYS in roles(first[1]) else (first, second)
    hidden = frozenset() if which is None else roles(which[1])
    query, heads, group = _roles(q, k, roles(exponentials[1]), hidden)
    window = None if which is None else window_of(reading, which, query, KEYS)
    mask = None if which is None else Mask(window, fill)
    left = tuple(axis for k, axis in enumerate(spec) if k not in total.params["axes"])
    return Softmax(
        exponentials, (total.output, left), product, q, k, scale, mask, which, query, heads, group
    )


def _spec_of_terms(total: Node) -> Spec:
    """With a role for each axis that has more than one element."""
    shape = total.inputs[0].shape
    summed = [axis for axis in total.params["axes"] if shape[axis] > 1]
    if len(summed) != 1:
        raise Other
    return tuple(_axis(size, KEYS if k in summed else str(k)) for k, size in enumerate(shape))


def _axis(size: int, role: Role) -> Axis:
    return ((size, role),) if size > 1 else ()


def _without_shift(reading: Reading, key: Key) -> Key:
    """What is exponentiated, but for what is the same for all keys."""
    key = reading.origin(key)
    while (node := reading.graph.producer.get(key[0])) is not None and node.name == "sub":
        operands = reading.values(node, key[1])
        if len(operands) != 2 or KEYS in roles(reading.origin(operands[1])[1]):
            raise Other
        key = reading.origin(operands[0])
    return key


def _masked(reading: Reading, key: Key) -> tuple[Key | None, float, Key]:
    """The mask, if there is one, what it sets scores to, and the scores."""
    node = reading.graph.producer.get(key[0])
    if node is None or node.name != "select_n":
        return None, -np.inf, key
    operands = reading.operands(node, key[1])
    if len(operands) != 3:
        raise Other
    (which, cut), (fill, _), (kept, spec) = operands
    number = reading.number(fill)
    if number is None or number > LEAST_FILL or not isinstance(kept, Value):
        raise Other
    if not isinstance(which, Value):
        raise Other
    return reading.origin((which, cut)), number, reading.origin((kept, spec))


def _scaled(reading: Reading, key: Key) -> tuple[Key, float]:
    """A product, and what it is multiplied by."""
    scale = 1.0
    while (node := reading.graph.producer.get(key[0])) is not None:
        if node.name not in ("mul", "div"):
            break
        numbers = [reading.number(each) for each in node.inputs]
        place = 0 if numbers[0] is None else 1
        number = numbers[1 - place]
        if number is None or (node.name == "div" and place == 1):
            raise Other
        scale = scale * number if node.name == "mul" else scale / number
        atom, spec = reading.operands(node, key[1])[place]
        if not isinstance(atom, Value):
            raise Other
        key = reading.origin((atom, spec))
    return key, scale


def _roles(
    q: Key, k: Key, wanted: frozenset[Role], hidden: frozenset[Role]
) -> tuple[Role, tuple[Role, ...], Role | None]:
    """The role of queries, those of heads, and that of heads that share keys.

    Raises:
        Other: if other axes are multiplied.
    """
    left, right = ([role for _, role in parts_of(key[1])] for key in (q, k))
    heads = tuple(role for role in left if role is not None and role in right)
    # Those that a mask tells apart are positions; without a mask it does not matter.
    own = sorted(
        (size, role) for size, role in parts_of(q[1]) if role is not None and role not in heads
    )
    own.sort(key=lambda part: part[1] in hidden)
    is_right = (
        0 < len(own) <= 2
        and sorted(map(str, left)) == sorted(map(str, [*heads, *(role for _, role in own), None]))
        and sorted(map(str, right)) == sorted(map(str, [*heads, KEYS, None]))
        and wanted == {*left, KEYS} - {None}
    )
    if not is_right:
        raise Other
    *others, (_, query) = own
    assert query is not None
    return query, heads, others[0][1] if others else None
