"""Tiles: where they lie, how they are cut out of a value, and how they are written back."""

from __future__ import annotations

from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.facts.axes import (
    Role,
    Spec,
    axis_roles,
    full_shape,
    roles,
    tile_shape,
)


@dataclass(frozen=True)
class Tile:
    """Attributes:
    offset: of its first element along each role; may be traced. size: elements along each role.
    stale: how many of them the tile before it has, too, along roles along which none may count
        twice: each element belongs to the first tile that has it.
    """

    offset: Mapping[Role, Any]
    size: Mapping[Role, int]
    stale: Mapping[Role, Any] = field(default_factory=dict)

    def shape(self, spec: Spec) -> tuple[int, ...]:
        return tile_shape(spec, self.size)

    def of(self, array: Any, spec: Spec) -> Any:
        """The tile of a whole value."""
        if not roles(spec):
            return array
        starts, sizes = self._place(spec)
        cut = lax.dynamic_slice(_in_parts(array, spec), starts, sizes, allow_negative_indices=False)
        return cut.reshape(self.shape(spec))

    def into(self, array: Any, spec: Spec, new: Any) -> Any:
        """The whole value with this tile replaced."""
        if not roles(spec):
            return new
        starts, sizes = self._place(spec)
        made = lax.dynamic_update_slice(
            _in_parts(array, spec), new.reshape(sizes), starts, allow_negative_indices=False
        )
        return made.reshape(full_shape(spec))

    def fresh(self, array: Any, spec: Spec, among: Set[Role], instead: Any) -> Any:
        """A tile that is cut as the spec says, with something else instead of what the tile before
        has, too, along some roles."""
        found = [(k, role) for k, axis in enumerate(spec) for role in axis_roles(axis) & among]
        for k, role in found:
            if role in self.stale:
                array = jnp.where(self._is_fresh(spec, k, role), array, instead)
        return array

    def _is_fresh(self, spec: Spec, k: int, role: Role) -> Any:
        """Along an axis, in the shape of all."""
        sizes = [size if each is None else self.size[each] for size, each in spec[k]]
        place = [each for _, each in spec[k]].index(role)
        at = lax.broadcasted_iota(jnp.int32, sizes, place)
        flags = (at >= self.stale[role]).reshape(-1)
        return lax.expand_dims(flags, [n for n in range(len(spec)) if n != k])

    def _place(self, spec: Spec) -> tuple[list[Any], list[int]]:
        parts = [part for axis in spec for part in axis]
        starts = [0 if role is None else self.offset[role] for _, role in parts]
        sizes = [size if role is None else self.size[role] for size, role in parts]
        return [jnp.asarray(start, jnp.int32) for start in starts], sizes


def _in_parts(array: Any, spec: Spec) -> Any:
    return array.reshape([size for axis in spec for size, _ in axis])
