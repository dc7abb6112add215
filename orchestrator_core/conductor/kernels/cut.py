"""Pieces of whole arrays in memory, read and written inside a kernel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax

from orchestrator_core.conductor.facts.axes import Part, Role, Spec, roles, tile_shape
from orchestrator_core.conductor.kernels import pallas
from orchestrator_core.conductor.kernels.held import power_of_two, squeezed_shape


@dataclass(frozen=True)
class Place:
    """Where a program is.

    Attributes:
        at: along roles of cells their numbers, along roles of tiles the first element.
        size: of tiles along their roles.
        zero: not known before the kernel runs: of slices that stick out of an array and begin at a
            known place JAX says that they do.
    """

    at: Mapping[Role, Any]
    size: Mapping[Role, int]
    zero: Any = 0


@dataclass(frozen=True)
class Cut:
    """Attributes:
    spec: how the array is cut, by the roles of tiles and of cells.
    """

    spec: Spec

    @property
    def parts(self) -> tuple[Part, ...]:
        """The axes of the array in memory."""
        return tuple(part for axis in self.spec for part in axis)

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(size for size, _ in self.parts)

    @property
    def roles(self) -> frozenset[Role]:
        return roles(self.spec)

    def piece(self, place: Place) -> tuple[int, ...]:
        """The shape of a piece, as it is held."""
        sizes = {role: place.size.get(role, 1) for role in self.roles}
        return squeezed_shape(tile_shape(self.spec, sizes))

    def read(self, ref: Any, place: Place, before: Sequence[Any] = ()) -> Any:
        """A piece; zero where it sticks out of the array. `before`: places along axes that the
        array in memory has before its own."""
        at, mask = self.at(place)
        found = pallas.load(ref, (*before, *at), mask)
        whole = self.piece(place)
        return found if found.shape == whole else jnp.reshape(found, whole)

    def write(self, ref: Any, place: Place, array: Any, before: Sequence[Any] = ()) -> None:
        """Stores a piece, but for what sticks out."""
        at, mask = self.at(place)
        shape = tuple(each.size for each in at if isinstance(each, pallas.Within))
        array = array if array.shape == shape else jnp.reshape(array, shape)
        pallas.store(ref, (*before, *at), array, mask)

    def at(self, place: Place) -> tuple[list[Any], Any]:
        """Where it lies along each axis, and what of that is inside of the array."""
        at: list[Any] = []
        held: list[tuple[Any, int, int]] = []
        for size, role in self.parts:
            if role is not None and role not in place.size:
                at.append(place.at[role])
                continue
            taken = power_of_two(size) if role is None else place.size[role]
            first = place.zero if role is None else place.at[role]
            at.append(pallas.within(first, taken))
            held.append((first, taken, size))
        return at, _inside(held)


def _inside(held: Sequence[tuple[Any, int, int]]) -> Any:
    """None if all of it is inside.

    Args:
        held: along each axis the first element, how many, and the length of the array.
    """
    shape = tuple(taken for _, taken, _ in held)
    mask: Any = None
    for axis, (first, taken, size) in enumerate(held):
        if size % taken:
            along = first + lax.broadcasted_iota(np.int32, shape, axis) < size
            mask = along if mask is None else mask & along
    return mask
