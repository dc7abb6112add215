"""Programs that say on which of several devices their arrays are.

JAX compiles a function for the devices that the operations in it name, where it can see them. In a
conducted program, which is one operation, it cannot; and what is known of costs is of one device.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jax.sharding import AbstractMesh, Mesh, Sharding

from orchestrator_core.conductor import _jax


def is_placed(jaxpr: Any) -> bool:
    """Does anything in it name more than one device?"""
    body, _ = _jax.inner(jaxpr)
    return any(
        _is_of_several(each) or (hasattr(each, "eqns") and is_placed(each))
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
