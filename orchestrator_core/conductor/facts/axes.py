"""Specs: which part of a value a tile needs, axis by axis.

An axis is a product of parts, slowest first, as a reshape makes them: batch and sequence merged are
``((4, None), (512, "i"))``. A part has a size and either a role, which a tile cuts, or none.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TypeAlias

Role: TypeAlias = str
Part: TypeAlias = tuple[int, Role | None]
Axis: TypeAlias = tuple[Part, ...]
Spec: TypeAlias = tuple[Axis, ...]

ROLES: tuple[Role, Role] = ("i", "j")
"""The two axes of a pairwise computation."""


class Untileable(Exception):
    """An operation cannot be done tile by tile; says why."""


def whole(size: int) -> Axis:
    """An axis that no tile cuts."""
    return () if size == 1 else ((size, None),)


def untiled(shape: Iterable[int]) -> Spec:
    return tuple(whole(size) for size in shape)


def normal(parts: Iterable[Part]) -> Axis:
    """Without parts of one element; parts side by side without a role are one."""
    made: list[Part] = []
    for size, role in parts:
        if role is not None:
            made.append((size, role))
        elif size != 1 and made and made[-1][1] is None:
            made[-1] = (made[-1][0] * size, None)
        elif size != 1:
            made.append((size, None))
    return tuple(made)


def axis_roles(axis: Axis) -> frozenset[Role]:
    return frozenset(role for _, role in axis if role is not None)


def roles(spec: Spec) -> frozenset[Role]:
    return frozenset(role for axis in spec for _, role in axis if role is not None)


def full_shape(spec: Spec) -> tuple[int, ...]:
    """Of the whole value."""
    return tuple(math.prod(size for size, _ in axis) for axis in spec)


def tile_shape(spec: Spec, sizes: Mapping[Role, int]) -> tuple[int, ...]:
    """Of one tile, which has so many elements along each role."""
    return tuple(
        math.prod(size if role is None else sizes[role] for size, role in axis) for axis in spec
    )


def without(spec: Spec, role: Role) -> Spec:
    """With one element where the role was."""
    return tuple(normal((1, None) if r == role else (size, r) for size, r in axis) for axis in spec)


def with_length(spec: Spec, role: Role, size: int) -> Spec:
    """With so many elements where the role is."""
    return tuple(tuple((size if r == role else old, r) for old, r in axis) for axis in spec)


def regrouped(spec: Spec, shape: Sequence[int]) -> Spec:
    """The same parts in other axes, as a reshape to `shape` groups them.

    Raises:
        Untileable: if the reshape cuts a part that a tile cuts too.
    """
    left = [part for axis in spec for part in axis][::-1]
    return tuple(normal(_taken(left, size)) for size in shape)


def _taken(left: list[Part], size: int) -> Iterable[Part]:
    """The next parts, of so many elements together; `left` is in reverse."""
    while size > 1:
        if not left:
            raise Untileable("a reshape to another size")
        part, role = left.pop()
        if size % part == 0:
            yield part, role
            size //= part
        elif role is None and part % size == 0:
            yield size, None
            left.append((part // size, None))
            size = 1
        else:
            raise Untileable("a reshape that cuts a tiled axis")
