"""The same functions of arrays for numbers that are known now and for those that are traced.

Of NumPy's arrays NumPy makes them at once, so that asking what a mask leaves out compiles nothing;
of JAX's, JAX does.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import scipy.special


class Functions:
    """``xp.where`` and the like."""

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def apply(*arrays: Any) -> Any:
            return getattr(_space(arrays), name)(*arrays)

        return apply

    def number(self, given: Any) -> Any:
        """As one of the floating type that ends of intervals have."""
        return _space((given,)).asarray(given, float)

    def logistic(self, given: Any) -> Any:
        return jax.nn.sigmoid(given) if _is_traced(given) else scipy.special.expit(given)

    def erf(self, given: Any) -> Any:
        space: Any = jax.scipy.special if _is_traced(given) else scipy.special
        return space.erf(given)


xp: Any = Functions()


def _space(arrays: Any) -> Any:
    return jnp if any(map(_is_traced, arrays)) else np


def _is_traced(array: Any) -> bool:
    return isinstance(array, jax.Array)
