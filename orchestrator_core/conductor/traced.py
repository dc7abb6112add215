"""What is known of a function at the shapes and types of one call."""

from __future__ import annotations

import contextvars
import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.conducted_call import call
from orchestrator_core.conductor.donation import opened
from orchestrator_core.conductor.given import Given
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.planning.planner import Planner
from orchestrator_core.conductor.program import Program
from orchestrator_core.conductor.returned import Returned

tracing_for: contextvars.ContextVar[Goal | None] = contextvars.ContextVar(
    "conductor_traces_for", default=None
)
"""The goal of the conducted function that is being traced now: those inside it are part of it."""

CHECKED = "ErrorEffect"
"""That of checks, of which ``checkify`` outside makes values; else they are for who runs the
function as it is."""

COMPILED = frozenset({"DebugEffect", "OrderedDebugEffect", "IOEffect", "OrderedIOEffect", CHECKED})
"""Side effects that a function has when it is compiled, too: it is, as ``jax.jit`` would do it."""


class Traced:
    """A function of these shapes and types.

    Attributes:
        program: None if JAX cannot trace it, or not for itself. reason: why the function runs as it
            was; empty if it is conducted.
        captured: tracers of an outer trace that the function has closed over.
        donated: which of the arrays that it is given. has_checks: does it check values?
        name: what JAX is to call it in what it says.
    """

    def __init__(
        self,
        program: Program | None,
        reason: str,
        returned: Returned | None = None,
        captured: tuple[Any, ...] = (),
        donated: tuple[bool, ...] = (),
        has_checks: bool = False,
        name: str = "",
    ) -> None:
        self.has_checks, self.name = has_checks, name
        self.program, self.reason = program, reason
        self.captured, self._returned = captured, returned
        self.donated = donated
        if program is not None:
            given_away = [k + len(captured) for k, is_one in enumerate(donated) if is_one]
            self._jit = functools.partial(jax.jit, donate_argnums=given_away)
            self._run = self._jit(_run_of(program, name))
            self._is_checked = program.goal.check == "none" or bool(reason)

    @property
    def gives_away(self) -> bool:
        """Are arguments donated?"""
        return any(self.donated)

    @property
    def is_of_this_trace(self) -> bool:
        """Is it good for nothing but the trace that goes on outside?"""
        return bool(self.captured)

    @property
    def is_plain(self) -> bool:
        """Is it a function of arrays alone, and is there nothing to be done but to run it?"""
        return (
            self.program is not None
            and self.program.goal.check == "none"
            and not self.captured
            and not self.has_checks
            and self._returned is not None
            and all(self._returned.is_array)
        )

    @property
    def is_to_run(self) -> bool:
        """Is it what runs now, and not the function as it was?"""
        return self.program is not None and (not self.has_checks or _jax.is_tracing())

    def __call__(self, arrays: list[Any]) -> Any:
        if not self._is_checked:
            self._check([*self.captured, *arrays])
        return self.whole(self._run(*self.captured, *arrays))

    def _check(self, arrays: list[Any]) -> None:
        """On the first call that JAX does not trace; what was compiled before is compiled anew if
        anything is put back."""
        assert self.program is not None
        if self.program.check(arrays):
            self._run = self._jit(_run_of(self.program, self.name))
        self._is_checked = not any(isinstance(each, _jax.Tracer) for each in arrays)

    def compile(self, arrays: list[Any]) -> Any:
        """As ``jax.jit(f).lower(...).compile()``, of arrays that stay the caller's: none is
        donated. `whole` makes of what it returns what the function returns."""
        assert self.program is not None
        if not self._is_checked:
            self._check([*self.captured, *arrays])
        run = jax.jit(_run_of(self.program, self.name))
        return run.lower(*self.captured, *arrays).compile()

    def whole(self, arrays: list[Any]) -> Any:
        """What the function returns, from the arrays in it."""
        assert self._returned is not None
        return self._returned(arrays)

    def lower(self, arrays: list[Any]) -> Any:
        """As ``jax.jit(f).lower``."""
        return self._run.lower(*self.captured, *arrays)


def trace(function: Callable[..., Any], given: Given, goal: Goal, planner: Planner) -> Traced:
    """Traces a function for these arguments. Whatever JAX says of one that it cannot trace becomes
    the reason why it runs as it was."""
    found: list[Returned] = []

    def flat(*arrays: Any) -> list[Any]:
        args, kwargs = given.arguments(arrays)
        result = function(*args, **kwargs)
        if inspect.iscoroutine(result):
            result.close()
            raise TypeError("what it returns is yet to be awaited")
        returned, made = Returned.of(result)
        found.append(returned)
        return made

    token = tracing_for.set(goal)
    try:
        jaxpr = _jax.trace(flat, given.avals)
    except Exception as error:  # whatever it is, the original will say it better
        return Traced(None, f"JAX cannot trace it: {_said(error)}")
    finally:
        tracing_for.reset(token)
    effects = sorted({type(each).__name__ for each in jaxpr.effects})
    if not COMPILED.issuperset(effects):
        return Traced(None, _of_effects(effects))
    if not any(found[-1].is_array) and not effects:
        return Traced(None, "it returns no arrays")
    jaxpr, captured = _jax.with_tracers_as_inputs(jaxpr)
    jaxpr, donated = opened(jaxpr)
    program = Program(jaxpr, goal, planner)
    reason = _of_effects(effects) or program.why_placed
    has_checks, name = CHECKED in effects, str(getattr(function, "__name__", ""))
    return Traced(program, reason, found[-1], tuple(captured), donated, has_checks, name)


def _run_of(program: Program, name: str) -> Callable[..., list[Any]]:
    def run(*arrays: Any) -> list[Any]:
        return call(program, arrays)

    run.__name__ = run.__qualname__ = name or "run"
    return run


def _of_effects(names: list[str]) -> str:
    if names == ["NamedAxisEffect"]:
        return "it names an axis that is mapped outside of it, as collectives do"
    if not names:
        return ""
    how = ", and is compiled as by jax.jit" if COMPILED.issuperset(names) else ""
    return f"it has side effects ({', '.join(names)}){how}"


def _said(error: Exception) -> str:
    """The first sentence of what JAX says, which may go on for pages."""
    text = str(error).strip().split("\n")[0]
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
