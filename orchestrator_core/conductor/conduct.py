"""`conduct`: any JAX function in, the same function out, faster or smaller where that is proven."""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, ParamSpec, TypeVar, cast, overload

import jax

from orchestrator_core.conductor.conducted import Conducted, is_off
from orchestrator_core.conductor.given import Given, arguments_of
from orchestrator_core.conductor.goal import Goal, goal_of
from orchestrator_core.conductor.ir.read import OPAQUE
from orchestrator_core.conductor.planning.text import decisions
from orchestrator_core.errors import InvalidGoal

P = ParamSpec("P")
T = TypeVar("T")


@overload
def conduct(
    fn: Callable[P, T],
    goal: Goal | None = None,
    *,
    memory: int | float | str | None = None,
    precision: str = "real",
    objective: str = "time",
    allow: str | Iterable[str] | None = None,
    deny: str | Iterable[str] = (),
    budget_s: float = 30.0,
    check: str = "none",
    plan: Mapping[str, Any] | str | bytes | None = None,
) -> Conducted[P, T]: ...


@overload
def conduct(
    fn: None = None,
    goal: Goal | None = None,
    *,
    memory: int | float | str | None = None,
    precision: str = "real",
    objective: str = "time",
    allow: str | Iterable[str] | None = None,
    deny: str | Iterable[str] = (),
    budget_s: float = 30.0,
    check: str = "none",
    plan: Mapping[str, Any] | str | bytes | None = None,
) -> Callable[[Callable[P, T]], Conducted[P, T]]: ...


def conduct(
    fn: Callable[P, T] | None = None,
    goal: Goal | None = None,
    *,
    memory: int | float | str | None = None,
    precision: str = "real",
    objective: str = "time",
    allow: str | Iterable[str] | None = None,
    deny: str | Iterable[str] = (),
    budget_s: float = 30.0,
    check: str = "none",
    plan: Mapping[str, Any] | str | bytes | None = None,
) -> Any:
    """The same function, with the same signature and values, faster or smaller where it can be.

        fast = conduct(train_step, objective="memory")
        print(fast.explain(state, batch))

    Whatever JAX can trace can be conducted; arguments and results are any trees of arrays, of any
    shape and type. What cannot be traced runs as it was, what has side effects as ``jax.jit`` of
    it, and `explain` says why. ``jit``, ``grad``, ``vmap``, ``checkpoint`` may stand inside and
    outside; derivatives are those of the original function, custom rules included.
    Arguments that are no arrays, and the object of a method that is conducted in its class, are
    constants of what is compiled: it is compiled again where they, or what they have, are others,
    up to 16 times for one object. Of a NumPy array in float64 that is changed in place JAX may keep
    the old numbers: assign a new one. As with ``jax.jit``, what a function has closed over stays as
    it was when it was traced, the object of a bound method (``conduct(model.step)``) too; and what
    it changes, but does not return, is lost: of a flax ``nnx`` module conduct a function of its
    state (``nnx.split`` and ``nnx.merge``) which returns the new one.

    What is looked for, in the names that `allow` and `deny` know:

    tiling
        Values over pairs of two large axes, forward and in traced backward passes: attention,
        cross-entropy over a vocabulary, contrastive losses, N-body sums, also with sums that
        run along rows or columns. They are computed in tiles and never kept whole. After the
        online softmax (Milakov and Gimelshein, arXiv 1805.02867), memory-efficient attention (Rabe
        and Staats, arXiv 2112.05682) and FlashAttention (Dao and others, arXiv 2205.14135); but
        nothing is matched by its spelling.
    recurrence
        Scans whose carry is affine: hoisted products, chunks, associative scans (Blelloch, "Prefix
        sums and their applications", CMU-CS-90-190; Martin and Cundy, arXiv 1709.04057).
    loops
        Values that a loop stores for the loop of its backward pass, computed again instead (Chen
        and others, arXiv 1604.06174).
    algebra
        Common subexpressions, constants, products that share an operand.

    Errors, relative to the largest element of a result: in ``precision="strict"`` only the order
    of sums changes, which moves float32 by about 1e-6 and float64 by about 1e-15 for sums of some
    thousand terms. In ``"real"`` also what is equal in real numbers is replaced, such as
    exp(a - b) for exp(a) / exp(b): float32 within 1e-5, float64 within 1e-13, bfloat16 and float16
    within 2e-2, which is their own rounding; sums of 16 bits are taken in 32. That holds of what a
    program rounds a few times. A loop that carries 16 bits, or casts to them, rounds in each step,
    and rewritten it rounds less often: over many steps the two drift apart, and the original from
    the exact result. A thousand ones added up in bfloat16 are 256 in a loop, and 976 once it is
    rewritten; ``strict`` leaves such a loop. What is rounded to fewer than 16 bits, or by
    `lax.reduce_precision`, is rounded in each step as it was. What is computed again, for the
    backward pass or once its maximum is known, a compiler may round otherwise the second time:
    exponents of a magnitude of some units are better kept in 32 bits, as in plain JAX. Where an
    intermediate value overflows, the result moves towards the one in float64; of infinite numbers
    in a parallel scan, and of the sign of zeros, nothing is promised.

    Args:
        fn: a function; left out, this is a decorator. Methods too.
        goal: all of the following but `plan`, as one value, in their place.
        memory: bytes that temporary values may take, or a text such as ``2GiB``; None for no limit.
            Where they should take more all the same, `explain` says so.
        precision: ``real`` or ``strict``.
        objective: ``time`` or ``memory``.
        allow: names of the only rewrites that may be used, one or several; None for all.
        deny: names of those that may not.
        budget_s: seconds that may be spent on rewriting one function at one combination of shapes;
            what there was no time for, `explain` names.
        check: ``probe`` to compare, on the first call outside of a trace, the values with those of
            the original, and put back what differs; ``measure`` to compare the times too.
        plan: what `.plan` of a conducted function gave, or its JSON: the same is decided again,
            without a search. Graphs that it does not know are planned anew, which `explain` says.

    Raises:
        InvalidGoal: naming what is possible, if something is not. InvalidFormat: if `plan` is none.
        TypeError: if `fn` cannot be called.
    """
    if goal is not None and not isinstance(goal, Goal):
        raise InvalidGoal(f"goal={goal!r}: expected a Goal, such as Goal(objective='memory')")
    wanted = goal_of(
        memory=memory,
        precision=precision,
        objective=objective,
        allow=allow,
        deny=deny,
        budget_s=budget_s,
        check=check,
    )
    if goal is not None and wanted != Goal():
        raise InvalidGoal("goal= has all of what memory=, precision= and the like say: give either")
    wanted = goal or wanted
    pins = None if plan is None else decisions(plan)

    def conducted(function: Callable[P, T]) -> Conducted[P, T]:
        if not callable(function):
            raise TypeError(
                f"conduct() takes a function; this is of type {type(function).__name__}"
            )
        if isinstance(function, Conducted):
            function = function.original
        return Conducted(function, wanted, pins)

    return conducted if fn is None else conducted(fn)


@contextlib.contextmanager
def off() -> Iterator[None]:
    """Meanwhile, in this thread, conducted functions run as they were."""
    token = is_off.set(True)
    try:
        yield
    finally:
        is_off.reset(token)


def opaque(function: Callable[P, T]) -> Callable[P, T]:
    """A function that the conductor neither looks into nor changes, wherever it is called.

    As with ``jax.jit`` numbers are traced; arguments that are neither arrays nor numbers, such as
    text, are constants.
    """

    def alone(constant: Any, *arrays: Any) -> T:
        tree, is_array, others = constant
        args, kwargs = arguments_of(tree, is_array, others, arrays)
        return function(*args, **kwargs)

    alone.__name__ = OPAQUE + getattr(function, "__name__", "function")
    jitted = jax.jit(alone, static_argnums=0)

    @functools.wraps(function)
    def run(*args: P.args, **kwargs: P.kwargs) -> T:
        given = Given(args, kwargs)
        constant = given.tree, tuple(given.is_array), tuple(given.others)
        return cast(T, jitted(constant, *given.arrays))

    return run
