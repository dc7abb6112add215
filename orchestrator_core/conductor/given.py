"""The arguments of one call."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import jax

from orchestrator_core.conductor import _jax

STAGES: tuple[tuple[type, ...], ...] = ((), (bool,), (bool, int), (bool, int, float, complex))
"""Which Python numbers are constants of a trace and not traced. As with ``jax.jit`` at first none
is; but functions that branch on a flag, or shape something by a number, need it as it is."""


class Given:
    """Arguments as arrays, and whatever else there is, which is part of the key.

    Attributes:
        arrays: what ``jax.jit`` would trace, less Python numbers of the types that are constants.
        others: the rest. key: what a trace depends on; None if something cannot be compared.
    """

    def __init__(self, args: Any, kwargs: Any, constants: tuple[type, ...] = ()) -> None:
        leaves, self.tree = jax.tree.flatten((args, kwargs))
        self.is_array = [_is_array(leaf, constants) for leaf in leaves]
        self.arrays = [leaf for leaf, is_one in zip(leaves, self.is_array, strict=True) if is_one]
        self.others = [x for x, is_one in zip(leaves, self.is_array, strict=True) if not is_one]
        self.avals = tuple(_jax.aval_of(array) for array in self.arrays)
        self.key = self._key()

    def _key(self) -> Any:
        others = tuple((type(each), _exactly(each)) for each in self.others)
        key = (self.tree, self.avals, others, _jax.trace_context())
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def arguments(self, arrays: Iterable[Any]) -> Any:
        """Positional and named ones, with other arrays in the places of these."""
        those: Iterator[Any] = iter(arrays)
        others = iter(self.others)
        leaves = [next(those) if is_array else next(others) for is_array in self.is_array]
        return jax.tree.unflatten(self.tree, leaves)


def _exactly(value: Any) -> Any:
    """Of zeros the sign counts, and one NaN is like the other."""
    return repr(value) if isinstance(value, float | complex) else value


def _is_array(leaf: Any, constants: tuple[type, ...]) -> bool:
    """Would ``jax.jit`` trace it? Text, functions and other objects it would not."""
    if type(leaf) in constants:
        return False
    try:
        _jax.aval_of(leaf)
    except TypeError:
        return False
    return True
