"""Arrays in the axes that cuDNN wants, and back.

It takes (batch, heads, length, d) and (batch, length, heads, d); which of them is the user's own
order of heads and positions, so that nothing is copied.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp

from orchestrator_core.conductor.facts.axes import Role
from orchestrator_core.conductor.facts.cells import Key
from orchestrator_core.conductor.kernels.attention import KEYS, Softmax
from orchestrator_core.conductor.kernels.attention.reading import parts_of


@dataclass(frozen=True)
class Layout:
    """Attributes:
    batch, heads: roles that queries and keys share; None if there is none. group: of heads of
        queries that share keys; these are side by side.
    heads_first: do all positions of one head lie side by side in memory?
    """

    batch: Role | None
    heads: Role | None
    group: Role | None
    query: Role
    heads_first: bool

    @classmethod
    def of(cls, softmax: Softmax) -> Layout:
        """Of at most two roles of heads."""
        batch, heads = ([None, None, *softmax.heads])[-2:]
        roles = [role for _, role in parts_of(softmax.q[1])]
        last = softmax.group or heads
        first = last is None or roles.index(last) < roles.index(softmax.query)
        return cls(batch, heads, softmax.group, softmax.query, first)

    def laid(self, key: Key, array: Any) -> Any:
        """A value of the graph in four axes."""
        parts, order = parts_of(key[1]), self._order(key)
        roles = [role for _, role in parts]
        array = jnp.reshape(array, [size for size, _ in parts])
        array = jnp.transpose(array, [roles.index(role) for role in order if role in roles])
        array = jnp.expand_dims(array, [k for k, role in enumerate(order) if role not in roles])
        shape, at = array.shape, self._heads_at
        return jnp.reshape(array, (*shape[:at], -1, *shape[at + 2 :]))

    def as_value(self, key: Key, array: Any) -> Any:
        """What has four axes in those of a value of the graph, and of its type."""
        parts, order = parts_of(key[1]), self._order(key)
        sizes = {role: size for size, role in parts}
        array = jnp.reshape(array, [sizes[role] for role in order if role in sizes])
        now = [role for role in order if role in sizes]
        array = jnp.transpose(array, [now.index(role) for _, role in parts])
        return jnp.reshape(array, key[0].shape).astype(key[0].dtype)

    @property
    def _heads_at(self) -> int:
        return 1 if self.heads_first else 2

    def _order(self, key: Key) -> list[Any]:
        """Of four axes, that of heads in two; what has no role has a name that no value has."""
        along = KEYS if KEYS in {role for _, role in parts_of(key[1])} else self.query
        heads = [self.heads or "no heads", self.group or "no group"]
        inner = [*heads, along] if self.heads_first else [along, *heads]
        return [self.batch or "no batch", *inner, None]
