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
    batch, heads: roles that queries and keys share; None if there is none.
    heads_first: do all positions of one head lie side by side in memory?
    """

    batch: Role | None
    heads: Role | None
    query: Role
    heads_first: bool

    @classmethod
    def of(cls, softmax: Softmax) -> Layout:
        """Of at most two roles of heads."""
        batch, heads = ([None, None, *softmax.heads])[-2:]
        roles = [role for _, role in parts_of(softmax.q[1])]
        first = heads is None or roles.index(heads) < roles.index(softmax.query)
        return cls(batch, heads, softmax.query, first)

    def laid(self, key: Key, array: Any) -> Any:
        """A value of the graph in four axes."""
        parts = parts_of(key[1])
        roles = [role for _, role in parts]
        array = jnp.reshape(array, [size for size, _ in parts])
        order = self._order(KEYS if KEYS in roles else self.query)
        array = jnp.transpose(array, [roles.index(role) for role in order if role in roles])
        ones = [k for k, role in enumerate(order) if role not in roles]
        return jnp.expand_dims(array, ones)

    def as_value(self, key: Key, array: Any) -> Any:
        """What has four axes in those of a value of the graph, and of its type."""
        roles = [role for _, role in parts_of(key[1])]
        order = self._order(KEYS if KEYS in roles else self.query)
        array = jnp.squeeze(array, [k for k, role in enumerate(order) if role not in roles])
        now = [role for role in order if role in roles]
        array = jnp.transpose(array, [now.index(role) for role in roles])
        return jnp.reshape(array, key[0].shape).astype(key[0].dtype)

    def _order(self, along: Role) -> list[Any]:
        """Of four axes; those of no role in particular have a name that no value has."""
        batch, heads = self.batch or "no batch", self.heads or "no heads"
        return [batch, *((heads, along) if self.heads_first else (along, heads)), None]
