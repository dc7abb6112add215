"""The arguments of one call."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.same import Same
from orchestrator_core.conductor.state import can_change, state_of

STAGES: tuple[tuple[type, ...], ...] = ((), (bool,), (bool, int), (bool, int, float, complex))
"""Which Python numbers are constants of a trace and not traced. As with ``jax.jit`` at first none
is; but functions that branch on a flag, or shape something by a number, need it as it is."""


class Given:
    """Arguments as arrays, and whatever else there is, which is part of the key.

    Attributes:
        arrays: what ``jax.jit`` would trace, less Python numbers of the types that are constants.
        others: the rest. key: what a trace depends on; None if something cannot be compared.
        place: the same of whatever objects, that can change, have become.
    """

    def __init__(self, args: Any, kwargs: Any, constants: tuple[type, ...] = ()) -> None:
        leaves, self.tree = jax.tree.flatten((args, kwargs))
        avals = [_traced_as(leaf, constants) for leaf in leaves]
        self.is_array = [each is not None for each in avals]
        self.arrays = [leaf for leaf, is_one in zip(leaves, self.is_array, strict=True) if is_one]
        self.others = [x for x, is_one in zip(leaves, self.is_array, strict=True) if not is_one]
        self.avals = tuple(each for each in avals if each is not None)
        self.key = self.place = self._key(state_of)
        if self.key is not None and any(map(can_change, self.others)):
            self.place = self._key(lambda each: Same(each) if can_change(each) else state_of(each))

    def _key(self, of: Callable[[Any], Hashable]) -> Any:
        try:
            others = tuple(map(of, self.others))
            key = (self.tree, self.avals, others, _jax.trace_context())
            hash(key)
        except TypeError:
            return None
        return key

    def marked(
        self, arrays: Sequence[bool], others: bool
    ) -> tuple[list[list[bool]], dict[str, list[bool]]]:
        """Of the leaves of each positional and each named argument: the marks of these arrays, and
        one mark for whatever is no array."""
        marks = iter(arrays)
        each = [next(marks) if is_array else others for is_array in self.is_array]
        args, kwargs = jax.tree.unflatten(self.tree, each)
        return [jax.tree.leaves(a) for a in args], {
            k: jax.tree.leaves(a) for k, a in kwargs.items()
        }

    def arguments(self, arrays: Iterable[Any]) -> Any:
        """Positional and named ones, with other arrays in the places of these."""
        return arguments_of(self.tree, self.is_array, self.others, arrays)


def arguments_of(
    tree: Any, is_array: Iterable[bool], others: Iterable[Any], arrays: Iterable[Any]
) -> Any:
    """Positional and named arguments, from the leaves of a tree."""
    those: Iterator[Any] = iter(arrays)
    rest = iter(others)
    return jax.tree.unflatten(tree, [next(those) if each else next(rest) for each in is_array])


def _traced_as(leaf: Any, constants: tuple[type, ...]) -> Any:
    """What ``jax.jit`` would trace it as; None of text, functions and other objects."""
    if type(leaf) in constants:
        return None
    try:
        return _jax.aval_of(leaf)
    except TypeError:
        return None
