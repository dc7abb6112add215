"""What changes nothing, of each monoid."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

IDEMPOTENT = frozenset({"max", "min", "and", "or"})
"""Kinds that do not mind to be told an element twice."""


def neutral(kind: str, dtype: Any) -> Any:
    """Of a kind of `REDUCTIONS`, among numbers of a type."""
    if kind in ("sum", "or"):
        return 0
    if kind == "product":
        return 1
    if kind == "and":
        return ~np.zeros((), dtype)[()]  # all bits
    return _end(dtype, is_least=kind == "max")


def _end(dtype: Any, is_least: bool) -> Any:
    if jnp.issubdtype(dtype, jnp.floating):
        return -np.inf if is_least else np.inf
    if dtype == np.bool_:
        return not is_least
    info: Any = np.iinfo(dtype)
    return info.min if is_least else info.max
