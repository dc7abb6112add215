"""Jaxprs: how they are traced, taken apart and put together."""

from __future__ import annotations

import contextlib
import functools
import importlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

import jax
import jax.extend.core as extend

from orchestrator_core.conductor._jax.equations import Equation, holding
from orchestrator_core.conductor._jax.types import aval_of

Jaxpr: TypeAlias = Any

Literal = extend.Literal
Primitive = extend.Primitive
Tracer = jax.core.Tracer

optimization_barrier_p = jax.make_jaxpr(jax.lax.optimization_barrier)(0.0).eqns[0].primitive

scan_p = extend.primitives.scan_p


def trace(function: Callable[..., Any], avals: Sequence[Any]) -> Jaxpr:
    """The closed jaxpr of a function of flat arguments that returns a list.

    Raises:
        Exception: whatever JAX says of functions that it cannot trace.
    """
    return jax.make_jaxpr(function)(*avals)


def live(jaxpr: Jaxpr) -> Jaxpr:
    """Without what no output needs, also of loops, as ``jax.jit`` leaves it out before it compiles:
    XLA does not drop what a loop carries. The inputs stay."""
    from jax.interpreters import partial_eval  # its names are not promised in any version

    body, constants = inner(jaxpr)
    try:
        made, _ = partial_eval.dce_jaxpr(body, [True] * len(body.outvars), True)
        if hasattr(jaxpr, "jaxpr"):
            return type(jaxpr)(made, constants)
        if _extent(made) == _extent(body):
            return jaxpr
        kept = inner(made)[1] or constants
        return trace(
            lambda *arrays: list(jax.core.eval_jaxpr(made, kept, *arrays)),
            [each.aval for each in body.invars],
        )
    except Exception:  # of a version that does it otherwise: it is right as it is, too
        return jaxpr


def _extent(jaxpr: Jaxpr) -> int:
    """How many equations and values there are, in bodies too."""
    body, _ = inner(jaxpr)
    return sum(
        1 + len(each.outvars) + sum(map(_extent, _bodies(each.params))) for each in body.eqns
    )


def _bodies(params: Mapping[str, Any]) -> Iterator[Jaxpr]:
    for value in params.values():
        yield from (x for x in (value if isinstance(value, tuple) else (value,)) if is_jaxpr(x))


def with_tracers_as_inputs(jaxpr: Jaxpr) -> tuple[Jaxpr, list[Any]]:
    """The same with all constants that are tracers as inputs, which come first; and those."""
    body, constants = inner(jaxpr)
    which = [isinstance(each, Tracer) for each in constants]
    if not any(which):
        return jaxpr, []
    tracers = [each for each, is_one in zip(constants, which, strict=True) if is_one]
    fixed = [each for each, is_one in zip(constants, which, strict=True) if not is_one]

    def function(*arrays: Any) -> list[Any]:
        captured, rest = iter(arrays[: len(tracers)]), iter(fixed)
        all_ = [next(captured) if is_one else next(rest) for is_one in which]
        return list(jax.core.eval_jaxpr(body, all_, *arrays[len(tracers) :]))

    return trace(
        function, [aval_of(each) for each in tracers] + [v.aval for v in body.invars]
    ), tracers


def inner(jaxpr: Any) -> tuple[Jaxpr, list[Any]]:
    """A jaxpr that stands in an equation, and its constants (from 0.11 on both are one class)."""
    return getattr(jaxpr, "jaxpr", jaxpr), list(getattr(jaxpr, "consts", ()))


def is_jaxpr(value: object) -> bool:
    return isinstance(value, extend.Jaxpr | extend.ClosedJaxpr)


def bind(primitive: Any, inputs: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """What the primitive makes of its inputs, always as a list."""
    found = primitive.get_bind_params(dict(params))
    functions, rest = found if isinstance(found, tuple) else ((), found)  # a pair before 0.10
    outputs = primitive.bind(*functions, *inputs, **rest)
    return list(outputs) if primitive.multiple_results else [outputs]


def written_out(equation: Equation) -> Jaxpr | None:
    """What JAX lowers the equation to, of operations that say more; None if there are none.

    What is taken apart by Python, as in ``for x in xs``, is an ``unstack`` from 0.11 on, and was
    slices before. A ``polynomial`` is an operation from 0.12 on, also in the derivative of ``erf``.
    """
    if equation.primitive.name not in ("unstack", "polynomial"):
        return None
    avals = [each.aval for each in equation.invars]
    function: Callable[..., list[Any]]
    if equation.primitive.name == "unstack":
        axis = equation.params["axis"]
        function = functools.partial(_slices, axis, range(avals[0].shape[axis]))
    else:
        function = _horner
        if len(avals) > 1 + (equation.params.get("unroll") or 8):
            return None  # it is lowered to a loop
    with holding(equation):
        return trace(function, avals)


def _slices(axis: int, places: Sequence[int], x: Any) -> list[Any]:
    return [jax.lax.index_in_dim(x, place, axis, keepdims=False) for place in places]


def _horner(x: Any, *coefficients: Any) -> list[Any]:
    """Of coefficients from the constant on."""
    made, *rest = reversed(coefficients)
    for each in rest:
        made = jax.lax.add(jax.lax.mul(made, x), each)
    return [made]


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Of the inputs of a scan: how many are constants, and how many are carried."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, *_ = params["ft_in"].unpack()  # from 0.11 on
    return len(constants), len(carried)


def scan_params(
    body: Jaxpr, counts: tuple[int, int, int, int], *, length: int, reverse: bool, unroll: int
) -> dict[str, Any]:
    """The parameters of a scan with this body.

    Args:
        counts: of constants, of what is carried, of inputs and of outputs with a leading axis.
    """
    consts, carry, xs, ys = counts
    params = {"jaxpr": body, "length": length, "reverse": reverse, "unroll": unroll}
    try:
        trees: Any = importlib.import_module("jax._src.flattree")
    except ImportError:  # before 0.11
        return {**params, "num_consts": consts, "num_carry": carry}
    taken = [trees.nones(count) for count in (consts, carry, xs)]
    made = [trees.nones(count) for count in (carry, ys)]
    return {**params, "ft_in": trees.pack(tuple(taken)), "ft_out": trees.pack(tuple(made))}


def is_tracing() -> bool:
    """Does anybody trace in this thread, also of a function without arguments?"""
    from jax._src import core  # there is no promised name in any version

    return not core.trace_state_clean()


@contextlib.contextmanager
def no_trace() -> Iterator[None]:
    """Meanwhile what is computed from constants is computed at once, whoever traces outside."""
    with jax.ensure_compile_time_eval():
        yield
