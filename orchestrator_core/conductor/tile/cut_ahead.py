"""Points are cut for a tile in the step before it.

In the same step XLA's CPU code would cut them within each kernel that reads them; and one that
reads both coordinates of a point asks anew for each element where to cut, so that it makes no
vectors. Of other values it does, and to carry them would cost their bytes once more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

import jax.numpy as jnp
from jax import lax

from orchestrator_core.conductor.cost.short_rows import SHORT
from orchestrator_core.conductor.facts.axes import Role, roles
from orchestrator_core.conductor.facts.tiles import Tile
from orchestrator_core.conductor.tile.passes import Pass
from orchestrator_core.conductor.tile.recipe import Key
from orchestrator_core.conductor.tile.row import State

Cuts: TypeAlias = list[Any]
"""What a row, or a tile, has of each value that is cut ahead."""


def cut(one: Pass, role: Role, whole: Mapping[Key, Any], place: Tile) -> Cuts:
    return [place.of(whole[key], key[1]) for key in _along(one, role)]


def by_key(one: Pass, role: Role, cuts: Cuts) -> dict[Key, Any]:
    return dict(zip(_along(one, role), cuts, strict=True))


def _along(one: Pass, role: Role) -> list[Key]:
    """Vectors of few coordinates, of which operations read one and another."""
    found = (key for key in one.recipe.leaves if roles(key[1]) == {role})
    return [(value, spec) for value, spec in found if 1 < value.shape[-1] < SHORT]


def loop(
    count: int,
    cut: Callable[[Any], Cuts],
    step: Callable[[Any, Cuts, State], State],
    state: State,
) -> State:
    """``state = step(n, cut(n), state)`` for each n below the count."""
    if count == 1:
        return step(0, cut(0), state)

    def body(n: Any, at: tuple[Cuts, State]) -> tuple[Cuts, State]:
        cuts, now = at
        return cut(jnp.minimum(n + 1, count - 1)), step(n, cuts, now)

    made: State = lax.fori_loop(0, count, body, (cut(0), state))[1]
    return made
