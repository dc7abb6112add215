"""Programs that say on which of several devices their arrays are.

JAX compiles a function for the devices that the operations in it name, where it can see them. In a
conducted program, which is one operation, it cannot; and what is known of costs is of one device.
Within a `shard_map` types say over which axes of a mesh arrays vary, and what rewrites make anew
does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from jax.sharding import AbstractMesh, Mesh, Sharding

from orchestrator_core.conductor import _jax

PLACED = (
    "its code names several devices, and what is predicted is for one; the part of each is "
    "conducted within a shard_map with check_vma=False: shard_map(conduct(f), ...)"
)
VARYING = (
    "it is within a shard_map that checks over which axes arrays vary; "
    "with check_vma=False it is conducted"
)

SPREAD = (
    "its arguments are on several devices, and what is predicted is for one device; "
    "the part of each is conducted within a shard_map with check_vma=False"
)


def why_placed(jaxpr: Any) -> str:
    """Why a program has to be seen by JAX as it was; empty if it need not."""
    avals = (*jaxpr.in_avals, *jaxpr.out_avals)
    if any(map(_jax.varies, avals)):
        return VARYING
    return PLACED if any(map(_jax.is_on_mesh, avals)) or _is_placed(jaxpr) else ""


def why_spread(arrays: Iterable[Any]) -> str:
    """Why a program runs as it was for these arrays; empty if they are on one device."""
    shardings = [getattr(each, "sharding", None) for each in arrays]
    several = any(each is not None and each.num_devices > 1 for each in shardings)
    return SPREAD if several else ""


def _is_placed(jaxpr: Any) -> bool:
    """Does anything in it name more than one device?"""
    body, _ = _jax.inner(jaxpr)
    return any(
        _is_of_several(each) or (hasattr(each, "eqns") and _is_placed(each))
        for equation in body.eqns
        for each in _params(equation)
    )


def _params(equation: Any) -> Iterator[Any]:
    for value in equation.params.values():
        yield from value if isinstance(value, tuple | list) else (value,)


def _is_of_several(value: Any) -> bool:
    """An abstract mesh names no devices: those are known from outside."""
    if isinstance(value, Mesh):
        return value.size > 1
    if not isinstance(value, Sharding) or isinstance(getattr(value, "mesh", None), AbstractMesh):
        return False
    return value.num_devices > 1
