"""Conducted functions."""

from __future__ import annotations

import contextvars
import functools
import inspect
import sys
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar, cast

import jax

from orchestrator_core.conductor.dispatch import Dispatch
from orchestrator_core.conductor.explaining.explanation import Explanation, explanation_of
from orchestrator_core.conductor.explaining.summary import NOT_CALLED
from orchestrator_core.conductor.given import Given
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.placing import why_spread
from orchestrator_core.conductor.planning.planner import Pins, Planner
from orchestrator_core.conductor.planning.text import plan_of
from orchestrator_core.conductor.traced import Traced, tracing_for
from orchestrator_core.conductor.traces import Traces

P = ParamSpec("P")
T = TypeVar("T")

is_off = contextvars.ContextVar("conductor_is_off", default=False)


class Conducted(Generic[P, T]):
    """A function that runs conducted; made by `conduct`. Threads may share it.

    Like ``jax.jit`` it reads what the function has closed over when it traces it, once for each
    combination of shapes and types.

    Attributes:
        original: the function as it was given. goal: what it is conducted for.
    """

    # In slots, so that `functools.wraps`, which JAX's transformations use, copies none of them to
    # another function, nor over them what an object that can be called has under the same name.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_dispatch",
        "_has_learned",
        "_is_plain",
        "_last",
        "_pins",
        "_quick",
        "_traces",
        "goal",
        "original",
    )

    def __init__(self, original: Callable[P, T], goal: Goal, pins: Pins | None = None) -> None:
        self.original, self.goal, self._pins = original, goal, pins
        self._traces = Traces(original, goal, Planner(pins))
        self._last: Traced | None = None
        self._dispatch, self._has_learned = Dispatch(), False
        self._quick = self._dispatched()
        self._is_plain = True
        self._look_like(original)

    def _look_like(self, original: Any) -> None:
        """Its name, its documentation and its attributes, but for those that are methods here."""
        attributes = getattr(original, "__dict__", {}).items()
        own = type(self)
        self.__dict__.update({name: x for name, x in attributes if not hasattr(own, name)})
        functools.update_wrapper(self, original, updated=())

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> T:
        traced_for = tracing_for.get()
        if is_off.get() or (traced_for is not None and traced_for == self.goal):
            return self.original(*args, **kwargs)
        is_plain = self._is_plain
        if is_plain:
            try:
                return self._quick(*args, **kwargs)  # type: ignore[no-any-return]
            except (_NotPlain, TypeError, ValueError):  # JAX's own words for what is no array
                is_plain = False
        given, traced = self.traced(args, kwargs)
        self._last = traced
        made = traced(given.arrays) if traced.is_to_run else self.original(*args, **kwargs)
        # Only now: a call that is wrong in itself says nothing about the others.
        self._is_plain = is_plain
        self._learn(given, traced)
        return cast(T, made)

    def _learn(self, given: Given, traced: Traced) -> None:
        """If JAX can do calls like this one, they are left to it from now on."""
        found = Dispatch.of(given, traced)
        if found is not None and not self._has_learned:
            self._dispatch, self._has_learned, self._is_plain = found, True, True
            self._quick = self._dispatched()

    def _dispatched(self) -> Any:
        """What JAX calls by itself where nothing stands against it: then a call costs what one of
        ``jax.jit(f)`` does."""
        dispatch = self._dispatch

        def plainly(*args: Any, **kwargs: Any) -> Any:
            given, traced = self.traced(args, kwargs)
            self._last = traced
            if Dispatch.of(given, traced) != dispatch:
                raise _NotPlain
            return traced(given.arrays)

        plainly.__name__ = name_of(self.original).rpartition(".")[2]
        return dispatch.jitted(plainly)

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        """A conducted method, bound."""
        return self if instance is None else Bound(self, instance)

    def __repr__(self) -> str:
        return f"<conducted {name_of(self.original)}>"

    def __reduce__(self) -> str | tuple[Any, ...]:
        """By its name where it can be imported; else as what it was made of. What was traced is
        not taken along."""
        found: Any = sys.modules.get(getattr(self, "__module__", ""))
        for part in getattr(self, "__qualname__", "").split("."):
            found = getattr(found, part, None)
        if found is self:
            return str(cast(Any, self).__qualname__)
        return Conducted, (self.original, self.goal, self._pins)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """What was found in the function, what was done about it, and why. Runs nothing.

        Args:
            args, kwargs: as in a call; ``jax.ShapeDtypeStruct`` may stand for arrays. Without any:
                of the last call with shapes or types that were new.
        """
        if args or kwargs or (self._last is None and _takes_nothing(self.original)):
            given, traced = self.traced(args, kwargs)
            spread = why_spread(given.arrays)
            traced = Traced(None, spread) if spread and traced.program is not None else traced
        elif self._last is None:
            traced = Traced(None, NOT_CALLED)
        else:
            traced = self._last
        return explanation_of(name_of(self.original), self.goal, traced.program, traced.reason)

    @property
    def plan(self) -> dict[str, Any]:
        """All that was decided until now, as plain data for JSON: ``conduct(f, plan=...)`` decides
        the same again."""
        programs = (each for known in self._traces.programs for each in known.family())
        planned = [each for each in programs if each.is_planned]
        found = {each.planned.signature: (each.what, each.sites) for each in planned}
        triples = [(what, digest, sites) for digest, (what, sites) in found.items()]
        return plan_of(name_of(self.original), self.goal, triples)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """As ``jax.jit(f).lower(...)``, of the function as it runs now; ``.compile()`` has its
        ``memory_analysis()`` and ``cost_analysis()``. ``jax.ShapeDtypeStruct`` may stand for
        arrays.

        Where an argument is no array or is donated, what is compiled takes and returns the arrays
        alone, one after another.
        """
        given, traced = self.traced(args, kwargs)
        if traced.program is None:
            return jax.jit(self.original).lower(*args, **kwargs)
        if given.others or traced.gives_away:
            return traced.lower(given.arrays)
        return jax.jit(functools.partial(self)).lower(*args, **kwargs)

    def traced(self, args: Any, kwargs: Any) -> tuple[Given, Traced]:
        """What is known of the function for these arguments."""
        return self._traces.of(args, kwargs)


def _takes_nothing(function: Callable[..., Any]) -> bool:
    """Can it be called without arguments?"""
    try:
        inspect.signature(function).bind()
    except (TypeError, ValueError):  # of what Python knows no signature of, too
        return False
    return True


class _NotPlain(Exception):
    """This call cannot be left to JAX."""


class Bound:
    """A conducted method of an object."""

    def __init__(self, conducted: Conducted[Any, Any], instance: object) -> None:
        self.conducted, self.instance = conducted, instance

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.conducted(self.instance, *args, **kwargs)

    def explain(self, *args: Any, **kwargs: Any) -> Explanation:
        """See `Conducted.explain`."""
        if not args and not kwargs:
            return self.conducted.explain()
        return self.conducted.explain(self.instance, *args, **kwargs)

    def lower(self, *args: Any, **kwargs: Any) -> Any:
        """See `Conducted.lower`."""
        return self.conducted.lower(self.instance, *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.conducted, name)


def name_of(function: Any) -> str:
    """As its module calls it; a partial by the function that it calls."""
    while isinstance(function, functools.partial):
        function = function.func
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name or type(function).__name__)
