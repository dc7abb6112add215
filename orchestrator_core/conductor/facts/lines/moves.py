"""What becomes of a view when an operation moves its elements."""

from __future__ import annotations

import dataclasses
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from orchestrator_core.conductor.facts.lines.view import Line, Step, View, ViewAxis, Whole
from orchestrator_core.conductor.ir.everywhere import everywhere
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value

Producer: TypeAlias = Mapping[Value, Node]

Moved: TypeAlias = View | None
"""None where the elements do not stand along a line any more, or where there are none."""


def given_of(node: Node, producer: Producer) -> Value | None:
    """The operand that an operation moves; None if it does something else."""
    if node.name == "concatenate":
        others = [each for each in node.inputs if everywhere(each, producer) is None]
        given = others[0] if len(others) == 1 else None
    else:
        given = node.inputs[0] if node.name in MOVES and node.inputs else None
    return given if isinstance(given, Value) else None


def moved(node: Node, view: View, producer: Producer) -> Moved:
    """The view of a node's result, whose operand is this view."""
    return MOVES[node.name](node, view, producer) if node.output.size else None


def _as_it_is(node: Node, view: View, producer: Producer) -> Moved:
    return view


def _transpose(node: Node, view: View, producer: Producer) -> Moved:
    return dataclasses.replace(view, axes=tuple(view.axes[k] for k in node.params["permutation"]))


def _reverse(node: Node, view: View, producer: Producer) -> Moved:
    axes, first = list(view.axes), view.first
    for k in node.params["dimensions"]:
        axis = axes[k]
        if isinstance(axis, Whole):
            return None
        if axis is not None:
            first += (axis.size - 1) * axis.step
            axes[k] = Step(axis.size, -axis.step)
    return dataclasses.replace(view, axes=tuple(axes), first=first)


def _slice(node: Node, view: View, producer: Producer) -> Moved:
    shape, made = node.inputs[0].shape, node.output.shape
    strides = node.params["strides"] or (1,) * len(shape)
    axes, first = list(view.axes), view.first
    limits = zip(node.params["start_indices"], node.params["limit_indices"], strict=True)
    for k, ((start, stop), stride) in enumerate(zip(limits, strides, strict=True)):
        axis = axes[k]
        if axis is None or (start, made[k]) == (0, shape[k]):
            continue
        if isinstance(axis, Step):
            first += start * axis.step
            axes[k] = _step(made[k], axis.step * stride)
        elif stride != 1 or made[k] == 1:
            return None
        else:
            cut = shape[k] - stop
            axes[k] = dataclasses.replace(axis, low=axis.low - start, high=axis.high - cut)
    return dataclasses.replace(view, axes=tuple(axes), first=first)


def _step(size: int, step: int) -> Step | None:
    return None if size == 1 else Step(size, step)


def _pad(node: Node, view: View, producer: Producer) -> Moved:
    config = [tuple(map(int, each)) for each in node.params["padding_config"]]
    if any(inside for *_, inside in config):
        return None
    return _padded(view, config, everywhere(node.inputs[1], producer))


def _concatenate(node: Node, view: View, producer: Producer) -> Moved:
    """The same number beside the one operand that is something else."""
    axis, at = node.params["dimension"], node.inputs.index(given_of(node, producer))
    sizes = [each.shape[axis] for each in node.inputs]
    around = (sum(sizes[:at]), sum(sizes[at + 1 :]))
    others = [each for k, each in enumerate(node.inputs) if k != at and each.size]
    numbers = [everywhere(each, producer) for each in others]
    config = [around if k == axis else (0, 0) for k in range(len(view.axes))]
    is_one = all(each == numbers[0] for each in numbers)
    return _padded(view, config, numbers[0] if numbers else None) if is_one else None


def _padded(view: View, config: Sequence[tuple[int, ...]], number: Any) -> Moved:
    """Args:
    number: what is put there; None if it is not known.
    """
    if any(max(low, high) > 0 for low, high, *_ in config):
        if number is None or not (view.number is None or view.number == number):
            return None
        view = dataclasses.replace(view, number=number)
    for k, (low, high, *_) in enumerate(config):
        if low or high:
            wider = _padded_axis(view, k, low, high)
            if wider is None:
                return None
            view = wider
    return view


def _padded_axis(view: View, k: int, low: int, high: int) -> Moved:
    axis, first = view.axes[k], view.first
    if axis is None:
        return None
    made: ViewAxis
    if isinstance(axis, Whole):
        # Where it was cut before, there is something else than that number.
        if (low > 0 > axis.low) or (high > 0 > axis.high):
            return None
        made = dataclasses.replace(axis, low=axis.low + low, high=axis.high + high)
        if made.size < 2:
            return None
    else:
        if max(low, high) > 0 and not _may_be_longer(view, k, low, high):
            return None
        first -= low * axis.step
        made = _step(axis.size + low + high, axis.step)
    axes = (*view.axes[:k], made, *view.axes[k + 1 :])
    return dataclasses.replace(view, axes=axes, first=first)


def _may_be_longer(view: View, k: int, low: int, high: int) -> bool:
    """Is the axis the slowest along the line, and lie its new elements beyond the line's ends?"""
    assert view.line is not None
    steps = dict(view.steps)
    axis = steps.pop(k)
    inside = sum((each.size - 1) * each.step for each in steps.values())
    if inside >= axis.step or any(each.step <= 0 for each in (axis, *steps.values())):
        return False
    end = view.first + axis.size * axis.step
    return (low <= 0 or view.first <= view.line.low) and (high <= 0 or end >= view.line.last)


def _reshape(node: Node, view: View, producer: Producer) -> Moved:
    """Axes are put together and taken apart in blocks as small as they can be."""
    if node.name == "reshape" and node.params.get("dimensions") is not None:
        return None
    axes = [axis for axis in view.axes if axis is not None]
    made: list[ViewAxis] = []
    for mine, sizes in _blocks(axes, [size for size in node.output.shape if size != 1]):
        if [axis.size for axis in mine] == sizes:
            made += mine
            continue
        laid = _laid(view, mine)
        if laid is None:
            return None
        view, step = laid
        after = itertools.accumulate(sizes[:0:-1], int.__mul__, initial=step)
        made += [Step(*pair) for pair in zip(sizes, [*after][::-1], strict=True)]
    left = iter(made)
    return dataclasses.replace(
        view, axes=tuple(None if size == 1 else next(left) for size in node.output.shape)
    )


def _blocks(
    axes: Sequence[Whole | Step], sizes: Sequence[int]
) -> Iterator[tuple[list[Whole | Step], list[int]]]:
    """Axes side by side, and the sizes that have as many elements together."""
    left, wanted = list(axes), list(sizes)
    while left:
        mine, others = [left.pop(0)], [wanted.pop(0)]
        while (have := math.prod(axis.size for axis in mine)) != (need := math.prod(others)):
            if have < need:
                mine.append(left.pop(0))
            else:
                others.append(wanted.pop(0))
        yield mine, others


def _laid(view: View, mine: Sequence[Whole | Step]) -> tuple[View, int] | None:
    """The view with these axes along the line, and the step of the last of them."""
    steps = [axis for axis in mine if isinstance(axis, Step)]
    if len(steps) == len(mine):
        pairs = itertools.pairwise(steps)
        is_dense = all(a.step == b.size * b.step for a, b in pairs)
        return (view, steps[-1].step) if is_dense else None
    if steps or len(mine) != 2 or view.line is not None:
        return None
    rows, columns = (axis for axis in mine if isinstance(axis, Whole))
    if min(rows.low, rows.high, columns.low, columns.high) < 0:
        return None
    line = Line(rows.axis, columns.axis, rows.count, columns.size, columns.low, columns.count)
    return dataclasses.replace(view, line=line, first=-rows.low * columns.size), 1


MOVES: Mapping[str, Callable[[Node, View, Producer], Moved]] = {
    "concatenate": _concatenate,
    "copy": _as_it_is,
    "expand_dims": _reshape,
    "pad": _pad,
    "reshape": _reshape,
    "rev": _reverse,
    "slice": _slice,
    "squeeze": _reshape,
    "transpose": _transpose,
}
