"""`conduct`: any JAX function in, the same function out, faster or smaller where that is proven."""

from __future__ import annotations

import contextlib
import contextvars
import functools
from collections.abc import Callable, Iterator
from typing import Any, Generic, ParamSpec, TypeVar, cast

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.conducted_call import call
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.ir.read import OPAQUE
from orchestrator_core.conductor.program import Program

P = ParamSpec("P")
T = TypeVar("T")

_is_off = contextvars.ContextVar("conductor_is_off", default=False)


class Conducted(Generic[P, T]):
    """A function that runs conducted; made by `conduct`.

    Attributes:
        original: the function as it was given. goal: what it is conducted for.
    """

    def __init__(self, original: Callable[P, T], goal: Goal) -> None:
        self.original, self.goal = original, goal
        self._known: dict[Any, _Known] = {}
        functools.update_wrapper(self, original)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        if _is_off.get():
            return self.original(*args, **kwargs)
        given = _Given.of(args, kwargs)
        known = self._known.get(given.key) if given.key is not None else None
        if known is None:
            known = _Known.of(self.original, given, self.goal)
            if given.key is not None and not known.is_of_this_trace:
                self._known[given.key] = known
        if known.program is None:
            return self.original(*args, **kwargs)
        return cast(T, known(given.arrays))


def conduct(function: Callable[P, T], goal: Goal | None = None) -> Conducted[P, T]:
    """The same function, with the same signature and values, faster or smaller where it can be."""
    return Conducted(function, goal or Goal())


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Meanwhile, in this thread, conducted functions run as they were."""
    token = _is_off.set(True)
    try:
        yield
    finally:
        _is_off.reset(token)


def opaque(function: Callable[P, T]) -> Callable[P, T]:
    """A function that the conductor neither looks into nor changes, wherever it is called."""

    def alone(*args: P.args, **kwargs: P.kwargs) -> T:
        return function(*args, **kwargs)

    alone.__name__ = OPAQUE + getattr(function, "__name__", "function")
    return cast(Callable[P, T], functools.wraps(function)(_named(jax.jit(alone))))


def _named(jitted: Any) -> Any:
    def run(*args: Any, **kwargs: Any) -> Any:
        return jitted(*args, **kwargs)

    return run


class _Given:
    """The arguments of one call: arrays, and whatever else there is, which is part of the key."""

    def __init__(self, leaves: list[Any], tree: Any) -> None:
        self.tree = tree
        self.is_array = [_is_array(leaf) for leaf in leaves]
        self.arrays = [leaf for leaf, is_one in zip(leaves, self.is_array, strict=True) if is_one]
        self.others = [x for x, is_one in zip(leaves, self.is_array, strict=True) if not is_one]
        self.avals = tuple(_jax.aval_of(array) for array in self.arrays)
        self.key = self._key()

    @classmethod
    def of(cls, args: Any, kwargs: Any) -> _Given:
        return cls(*jax.tree.flatten((args, kwargs)))

    def _key(self) -> Any:
        """None if something cannot be compared: then nothing is remembered."""
        key = (self.tree, self.avals, tuple(self.others), _jax.is_x64())
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def arguments(self, arrays: Any) -> Any:
        """Positional and named ones, with other arrays in the places of these."""
        arrays, others = iter(arrays), iter(self.others)
        leaves = [next(arrays) if is_array else next(others) for is_array in self.is_array]
        return jax.tree.unflatten(self.tree, leaves)


class _Known:
    """What is known of a function at the shapes and types of one call.

    Attributes:
        program: None if JAX cannot trace it. reason: the reason why.
        captured: tracers of an outer trace that the function has closed over.
    """

    def __init__(self, program: Program | None, out: Any, captured: list[Any], reason: str) -> None:
        self.program, self.captured, self.reason = program, captured, reason
        self._out = out
        if program is not None:
            self._run = jax.jit(functools.partial(_run, program))

    @classmethod
    def of(cls, function: Callable[..., Any], given: _Given, goal: Goal) -> _Known:
        trees: list[Any] = []

        def flat(*arrays: Any) -> list[Any]:
            args, kwargs = given.arguments(arrays)
            leaves, tree = jax.tree.flatten(function(*args, **kwargs))
            trees.append(tree)
            return leaves

        try:
            jaxpr = _jax.trace(flat, given.arrays)
        except Exception as error:  # whatever it is, the original will say it better
            return cls(None, None, [], f"{type(error).__name__}: {error}")
        jaxpr, captured = _jax.with_tracers_as_inputs(jaxpr)
        return cls(Program(jaxpr, goal), trees[-1], captured, "")

    @property
    def is_of_this_trace(self) -> bool:
        """Is it good for nothing but the trace that goes on outside?"""
        return bool(self.captured)

    def __call__(self, arrays: list[Any]) -> Any:
        return jax.tree.unflatten(self._out, self._run(*self.captured, *arrays))


def _run(program: Program, *arrays: Any) -> list[Any]:
    return call(program, arrays)


def _is_array(leaf: Any) -> bool:
    """Would ``jax.jit`` trace it? Text, functions and other objects it would not."""
    try:
        _jax.aval_of(leaf)
    except TypeError:
        return False
    return True
