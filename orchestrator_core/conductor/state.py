"""What a trace has read of an argument that is no array, so that it is traced anew if it changes.

``jax.jit`` compares static arguments by ``==``. Objects of most classes are equal to themselves
whatever has become of them; of these, what they have now is compared.
"""

from __future__ import annotations

import enum
import functools
import logging
import types
from collections.abc import Hashable, Iterator
from typing import Any

import jax
import numpy as np

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.same import Same

MOST_PARTS = 1000
"""Parts of one argument that are looked at on each call."""

MOST_DEEP = 50
"""Parts that are in each other."""

MOST_BYTES = 2**20
"""Bytes of one NumPy array that are compared on each call; a tenth of a millisecond."""

ATOMS = (types.NoneType, bool, int, str, bytes, enum.Enum)
"""What never changes."""

NAMED = (type, types.FunctionType, types.BuiltinFunctionType, types.ModuleType, logging.Logger)
"""What is read when it is traced, as by ``jax.jit``, and then taken to stay as it is."""


def state_of(value: Any) -> Hashable:
    """All of it that can change, as something that can be compared.

    Raises:
        TypeError: if something in it cannot be compared, or it is too large to be looked through.
    """
    return _Reading().read(value)


def can_change(value: Any) -> bool:
    """Can it become another one and be equal to itself?"""
    if isinstance(value, types.MethodType):
        return can_change(value.__self__)
    if _read.dispatch(type(value)) is not _object or hasattr(value, "__wrapped__"):
        return False
    compares: Any = type(value).__eq__
    return compares is object.__eq__ and any(_attributes(value))


class _Reading:
    """Of one argument, whose parts may be in each other."""

    def __init__(self) -> None:
        self._seen: dict[int, tuple[int, Any]] = {}
        self._depth = 0

    def read(self, value: Any) -> Hashable:
        if isinstance(value, ATOMS):
            return type(value), value
        if isinstance(value, float | complex):
            return type(value), repr(value)  # of zeros the sign counts; one NaN is like another
        if id(value) in self._seen:
            return "seen", self._seen[id(value)][0]
        if len(self._seen) > MOST_PARTS or self._depth > MOST_DEEP:
            raise TypeError(f"more than {MOST_PARTS} parts, or {MOST_DEEP} in each other")
        self._seen[id(value)] = len(self._seen), value  # kept, so that no other has its address
        self._depth += 1
        found = _read(value, self)
        self._depth -= 1
        return found


def _object(value: Any, reading: _Reading) -> Hashable:
    if not can_change(value):
        return _compared(value)
    return Same(value), tuple((name, reading.read(x)) for name, x in _attributes(value))


_read = functools.singledispatch(_object)


def _compared(value: Any, _: _Reading | None = None) -> Hashable:
    """Its class says what is equal."""
    hash(value)
    return type(value), value


for _each in NAMED:
    _read.register(_each, _compared)


@_read.register(jax.Array)
@_read.register(_jax.Tracer)
def _array(value: Any, _: _Reading) -> Hashable:
    return Same(value)


@_read.register(np.ndarray)
def _contents(array: np.ndarray[Any, Any], _: _Reading) -> Hashable:
    if array.nbytes > MOST_BYTES or array.dtype.hasobject:
        raise TypeError("a large array of NumPy may change at any time")
    return array.shape, array.dtype.str, array.tobytes()


@_read.register
def _sequence(value: tuple | list, reading: _Reading) -> Hashable:  # type: ignore[type-arg]
    return type(value), tuple(map(reading.read, value))


@_read.register
def _set(value: set | frozenset, reading: _Reading) -> Hashable:  # type: ignore[type-arg]
    return type(value), frozenset(map(reading.read, value))


@_read.register
def _mapping(value: dict, reading: _Reading) -> Hashable:  # type: ignore[type-arg]
    return type(value), tuple((reading.read(k), reading.read(x)) for k, x in value.items())


@_read.register
def _method(value: types.MethodType, reading: _Reading) -> Hashable:
    return value.__func__, reading.read(value.__self__)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """In the object itself, not in its class."""
    yield from getattr(value, "__dict__", {}).items()
    for name in _slots(type(value)):
        if hasattr(value, name):
            yield name, getattr(value, name)


def _slots(kind: type) -> Iterator[str]:
    """Those that Python has renamed, since they begin with two underscores, under that name."""
    for each in kind.__mro__:
        slots = each.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            is_private = name.startswith("__") and not name.endswith("__")
            if name not in ("__dict__", "__weakref__"):
                yield f"_{each.__name__.lstrip('_')}{name}" if is_private else name
