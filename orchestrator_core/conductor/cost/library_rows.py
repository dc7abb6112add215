"""What YNNPACK's kernels take beside their operations, on a CPU.

They run along rows, the last axes of an array. Where operands are spread along different axes, as
in ``x[:, None] - y[None]`` of points with few coordinates, each row is a call of its own. Measured
in JAX 0.10.2 on two cores (EPYC, 2026; docs/decisions/0029).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Mapping, Sequence

from orchestrator_core.conductor.cost.device import Device
from orchestrator_core.conductor.cost.fusion import Group
from orchestrator_core.conductor.cost.fusion_facts import REDUCTIONS
from orchestrator_core.conductor.cost.meeting import (
    as_product_s,
    long_axes,
    may_be_product,
    meeting_s,
)
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Atom, Literal, Value

ROW = 96.0
"""Simple operations that would take as long as a call for one row."""

SHORT = 16
"""Elements of a row, of less than which a sum along another axis takes as long as a call for each:
2 to 4 ns, be they 2 or 8."""

SPREAD = 220.0
"""The same of storing one number as a whole row: 5 to 6 ns, be it of 2 or of 64 elements."""

Makers = Mapping[Atom, Node]


def beside_s(group: Group, device: Device) -> float:
    """Seconds of a kernel beside its operations; none unless a library computes it."""
    if not group.is_library:
        return 0.0
    makers: Makers = {value: node for node in group.nodes for value in node.outputs}
    products = {node for node in group.nodes if _is_summed_product(node, makers)}
    products |= {makers[node.inputs[0]] for node in products}
    rows = _together({n: _rows(n, makers) for n in group.nodes if n not in products})
    stored = sum(each.nbytes for each in _stored(rows, makers))
    made = ROW * sum(rows.values()) + SPREAD * _spread_rows(group)
    seconds = made / device.loop_rate + device.fresh_s(stored)
    return seconds + sum(_meeting_s(node, device) for node in group.nodes)


def spreads_over_rows(node: Node) -> bool:
    """Does a broadcast make a row of each number?"""
    axes = long_axes(node.output)
    return bool(axes) and axes[-1] not in _own(node.output, {node.output: node})


def _spread_rows(group: Group) -> float:
    """How many numbers that it has made a library stores as a row each."""
    root = group.root
    if root.name != "broadcast_in_dim" or len(group.nodes) == 1 or not spreads_over_rows(root):
        return 0.0
    return root.output.size / root.output.shape[long_axes(root.output)[-1]]


def _meeting_s(node: Node, device: Device) -> float:
    """As it is, or as the product that `algebra` makes of it."""
    seconds = meeting_s(node, device)
    if not seconds or not may_be_product(node):
        return seconds
    return min(seconds, as_product_s(node, device, is_stored=False))


def _together(rows: Mapping[Node, float]) -> dict[Node, float]:
    """What combines arrays of a size that others make row by row is called row by row, too."""
    made: defaultdict[int, float] = defaultdict(float)
    for node, count in rows.items():
        if node.name not in REDUCTIONS:
            made[node.output.size] = max(made[node.output.size], count)
    return {node: count or made[_combined(node)] for node, count in rows.items()}


def _combined(node: Node) -> int:
    """The size of the arrays that a node combines, several of the same; 0 if it does not."""
    arrays = {each for each in node.inputs if isinstance(each, Value)}
    sizes = {each.size for each in arrays}
    is_alone = node.name in REDUCTIONS or len(arrays) < 2 or len(node.outputs) != 1
    return 0 if is_alone or sizes != {node.output.size} else node.output.size


def _stored(rows: Mapping[Node, float], makers: Makers) -> list[Atom]:
    """What is summed along others than the last axes, and is kept as a whole until then, since it
    is made row by row, or of axes on both sides."""
    found = []
    for node in rows:
        array = node.inputs[0] if node.name in REDUCTIONS else None
        if array is None or array not in makers:
            continue
        summed = [axis in node.params["axes"] for axis in long_axes(array)]
        is_between = True in summed and not summed[0] and not summed[-1]
        is_by_rows = not summed[-1] and rows.get(makers[array], 0.0) > 0
        found += [array] if is_between or is_by_rows else []
    return found


def _rows(node: Node, makers: Makers) -> float:
    """For how many rows a node is called one by one."""
    if node.name in REDUCTIONS:
        array = node.inputs[0]
        kinds = [(axis in node.params["axes"],) for axis in long_axes(array)]
        is_of_rows = not kinds or kinds[-1][0]
        return _calls(array, kinds) if is_of_rows else _short_rows(array)
    if len(node.outputs) != 1 or node.name in ("broadcast_in_dim", "dot_general"):
        return 0.0
    axes = long_axes(node.output)
    spread = [_own(each, makers) for each in node.inputs if not isinstance(each, Literal)]
    own = [axes_of for axes_of in spread if axes_of]
    return _calls(node.output, [tuple(axis in each for each in own) for axis in axes])


def _short_rows(array: Atom) -> float:
    """Rows of few elements that are added up one by one."""
    last = array.shape[long_axes(array)[-1]]
    return array.size / last if last < SHORT else 0.0


def _calls(array: Atom, kinds: Sequence[tuple[bool, ...]]) -> float:
    """How many rows an array has, if those last axes are one row that are of one kind."""
    same = 0
    while same < len(kinds) and kinds[-1 - same] == kinds[-1]:
        same += 1
    if same == len(kinds):
        return 0.0
    sizes = [size for size in array.shape if size > 1]
    return float(math.prod(sizes[: len(sizes) - same]))


def _own(atom: Atom, makers: Makers) -> frozenset[int]:
    """Axes along which an operand has numbers of its own; along the others it is spread."""
    node = makers.get(atom)
    if node is None or node.name not in ("broadcast_in_dim", "iota"):
        return frozenset(long_axes(atom))
    if node.name == "iota":
        return frozenset({node.params["dimension"]})
    given = node.inputs[0]
    to = node.params.get("broadcast_dimensions", range(len(given.shape)))
    return frozenset(to[axis] for axis in long_axes(given))


def _is_summed_product(node: Node, makers: Makers) -> bool:
    """Is it a matrix product, written as a sum of products? The library makes one of it."""
    maker = makers.get(node.inputs[0]) if node.name == "reduce_sum" else None
    if maker is None or maker.name != "mul" or not isinstance(node.inputs[0], Value):
        return False
    one, two = (_own(each, makers) for each in maker.inputs)
    summed = set(node.params["axes"]) & set(long_axes(node.inputs[0]))
    return summed <= one & two and bool(one - two) and bool(two - one)
