"""Matrix products the other way round, where a CPU's library would turn a large operand.

So it is with the gradient of a matrix, ``x^T g``, whenever x is larger than g and the result: the
same sums come from ``(g^T x)^T``. Only their order may change.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any, TypeAlias

from orchestrator_core.conductor.algebra.judged import site
from orchestrator_core.conductor.cost import Device, price, this_device
from orchestrator_core.conductor.cost.fusion_facts import LOOPS
from orchestrator_core.conductor.cost.lying import Lying, Numbers, free_axes, is_better_turned
from orchestrator_core.conductor.cost.operand_copies import swapped, with_copies
from orchestrator_core.conductor.cost.roofline import TURNING, seconds_of_product, turning_s
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Value
from orchestrator_core.conductor.ir.written import in_place_of, written
from orchestrator_core.conductor.oriented import product
from orchestrator_core.conductor.site import Price, Site

FOUND = "a matrix product whose larger operand lies the other way round"
SMALL = 2**14
"""Elements: what is smaller is turned in no time."""

WORTH = 0.8
"""It must take less than this part of the time, by prediction: among other kernels XLA may make an
operand turned at once, and what is gained is less than for the product alone (by 0.1 to 0.25)."""


NO_GAIN = "all in all it would take no less time, for more would be held at once"


def turned(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """The graph with such products turned where that is faster, and if it is so all in all."""
    device = this_device()
    if device.platform != "cpu" or goal.objective == "memory":
        return graph, []
    after, sites = _each_turned(graph, goal, device)
    if after is graph or goal.always or goal.pinned is not None:
        return after, sites
    if price(after, device).seconds < price(graph, device).seconds:
        return after, sites
    return graph, [site.left(NO_GAIN) if site.is_changed else site for site in sites]


def _each_turned(graph: Graph, goal: Goal, device: Device) -> tuple[Graph, list[Site]]:
    sites: list[Site] = []
    products = [each for each in graph.nodes if each.name == "dot_general"]
    copies = Counter(copy for each in products for copy in _copies(each))
    for output in [each.output for each in products]:
        # What was turned before has changed what it reads.
        node = graph.producer[output]
        seen = _seen(graph, node)
        if seen is None or seen.left.size < SMALL:
            continue
        if not is_better_turned(seen.left, seen.right, seen.numbers):
            continue
        if _is_made_to_lie(graph, seen.left):
            continue
        both = _prices(node, seen, device, copies)
        decided = site(node, FOUND, "its operands and its result turned", both, goal, WORTH)
        sites.append(decided)
        if decided.is_changed:
            graph = _with(graph, node, seen)
    return graph, list(dict.fromkeys(sites))


@dataclass(frozen=True)
class _Seen:
    """A product as XLA sees it: of what lies in memory, and turned as its only reader has it.

    Attributes:
        last: the node that makes what is read: the product, or who turns it.
    """

    left: Value
    right: Value
    numbers: Numbers
    last: Node


def _seen(graph: Graph, node: Node) -> _Seen | None:
    """None of a product of numbers, or of one whose operand was turned in another way."""
    sides = [_lying(graph, node, side) for side in (0, 1)]
    one, two = sides
    if one is None or two is None:
        return None
    last = _view(graph, node)
    if last is not None:
        one, two = two, one
    (left, inner, batch), (right, right_inner, right_batch) = one, two
    numbers = ((inner, right_inner), (batch, right_batch))
    return _Seen(left, right, numbers, last or node)


Lies = tuple[Value, tuple[int, ...], tuple[int, ...]]
"""An operand in memory, and its contracted and batch axes."""


def _lying(graph: Graph, node: Node, side: int) -> Lies | None:
    operand, numbers = node.inputs[side], node.params["dimension_numbers"]
    if not isinstance(operand, Value):
        return None
    inner, batch = (tuple(axes[side]) for axes in numbers)
    maker = graph.producer.get(operand)
    if maker is None or maker.name != "transpose" or not isinstance(maker.inputs[0], Value):
        return operand, inner, batch
    source = graph.producer.get(maker.inputs[0])
    if source is not None and source.name == "dot_general" and _view(graph, source) is maker:
        return operand, inner, batch  # that product is made turned, and never lies otherwise
    order = maker.params["permutation"]
    free = [order[k] for k in free_axes(len(order), numbers, side)]
    if free != sorted(free):
        return None
    return maker.inputs[0], tuple(order[k] for k in inner), tuple(order[k] for k in batch)


def _is_made_to_lie(graph: Graph, value: Value) -> bool:
    """Is it spread from what is smaller, in loops? XLA makes it as the product wants it to lie (the
    one-hot masks of a layer of experts: turned, 1.3 times the time of the layer)."""
    seen, open_ = {value}, [value]
    while open_:
        node = graph.producer.get(open_.pop())
        if node is None or node.name not in LOOPS:
            return False
        read = {each for each in node.inputs if isinstance(each, Value) and each not in seen}
        open_ += [each for each in read if 2 * each.size > value.size]
        seen |= read
    return True


def _view(graph: Graph, node: Node) -> Node | None:
    """The transposition that alone reads a product, and is the same as its operands swapped."""
    readers = graph.consumers.get(node.output, ())
    if len(readers) != 1 or node.output in graph.outputs or readers[0].name != "transpose":
        return None
    return readers[0] if readers[0].params["permutation"] == swapped(node) else None


def _prices(node: Node, seen: _Seen, device: Device, copies: Copies) -> tuple[Price, Price]:
    """Of the product as it is, which turns its left operand or has it copied, and of what turns the
    others."""
    plain = device.kernel_s + seconds_of_product(node, device)
    left = Lying.of(seen.left.shape, seen.numbers, 0)
    right = Lying.of(seen.right.shape, seen.numbers, 1)
    turning = turning_s(left, device)
    copied = [copy for copy in _copies(node) if copy[0] is seen.left]
    if copied:
        # Of what another product reads in the same way there is one copy for both.
        turning = 0.0 if copies[copied[0]] > 1 else TURNING * seen.left.size
    again = node.output.size + (seen.right.size if right.is_inner_first else 0)
    moved = 3 * device.start_s(again) + TURNING * again
    return Price(plain + turning, 0), Price(plain + moved, seen.right.nbytes)


Copies: TypeAlias = Counter[tuple[Atom, tuple[int, ...]]]
"""How many products read a value turned in this way, of those for which XLA makes a copy."""


def _copies(node: Node) -> list[tuple[Atom, tuple[int, ...]]]:
    """The copies that XLA makes of a product's operands."""
    made = with_copies(node, lambda _: None)[:-1]
    return [(copy.inputs[0], copy.params["permutation"]) for copy in made]


def _with(graph: Graph, node: Node, seen: _Seen) -> Graph:
    inputs = list(dict.fromkeys((seen.left, seen.right)))
    precision, is_turned = node.params["precision"], seen.last is not node
    if is_turned and isinstance(precision, tuple):
        precision = precision[::-1]

    def function(*arrays: Any) -> list[Any]:
        of = dict(zip(inputs, arrays, strict=True))
        kind = node.params["preferred_element_type"]
        how = {"precision": precision, "preferred_element_type": kind}
        return [product(of[seen.left], of[seen.right], seen.numbers, **how)]

    gone = [node, seen.last] if is_turned else [node]
    return in_place_of(graph, gone, written(function, inputs, node.source), [seen.last.output])
