"""The only door to names that JAX does not promise to keep: from here on they are ours.

JAX 0.10.2 (the last for Python 3.11), 0.11 and 0.12 are supported. What moved between them is said
beside each name.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import jax
import jax.extend.core as extend
from jax import Array
from jax.interpreters import ad, batching, mlir

Aval: TypeAlias = Any
"""Shape, type and weakness of a value: ``jax.core.ShapedArray``, or of keys and tokens."""

Equation: TypeAlias = Any
Jaxpr: TypeAlias = Any

Literal = extend.Literal
Primitive = extend.Primitive
Tracer = jax.core.Tracer
ShapedArray = jax.core.ShapedArray

optimization_barrier_p = jax.make_jaxpr(jax.lax.optimization_barrier)(0.0).eqns[0].primitive

__all__ = [
    "Aval",
    "Equation",
    "Jaxpr",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "aval_of",
    "bind",
    "context_of",
    "inner",
    "new_primitive",
    "optimization_barrier_p",
    "scan_counts",
    "source_of",
    "trace",
]


def trace(function: Callable[..., Any], avals: Sequence[Any]) -> Jaxpr:
    """The closed jaxpr of a function of flat arguments that returns a list.

    Raises:
        Exception: whatever JAX says of functions that it cannot trace.
    """
    return jax.make_jaxpr(function)(*avals)


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


def aval_of(x: Any) -> Aval:
    """Of an array, a tracer, or a Python number (which is weakly typed)."""
    return jax.typeof(x)


def inner(jaxpr: Any) -> tuple[Jaxpr, list[Any]]:
    """A jaxpr that stands in an equation, and its constants (from 0.11 on both are one class)."""
    return getattr(jaxpr, "jaxpr", jaxpr), list(getattr(jaxpr, "consts", ()))


def bind(primitive: Any, inputs: Sequence[Any], params: Mapping[str, Any]) -> list[Any]:
    """What the primitive makes of its inputs, always as a list."""
    found = primitive.get_bind_params(dict(params))
    functions, rest = found if isinstance(found, tuple) else ((), found)  # a pair before 0.10
    outputs = primitive.bind(*functions, *inputs, **rest)
    return list(outputs) if primitive.multiple_results else [outputs]


def context_of(equation: Equation) -> Callable[[], AbstractContextManager[Any]]:
    """What holds while the equation is evaluated: threefry's form, metadata, mesh."""
    context = getattr(equation, "ctx", None)
    return contextlib.nullcontext if context is None else lambda: context.manager


def scan_counts(params: Mapping[str, Any]) -> tuple[int, int]:
    """Of the inputs of a scan: how many are constants, and how many are carried."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, *_ = params["ft_in"].unpack()  # from 0.11 on
    return len(constants), len(carried)


def source_of(equation: Equation) -> str:
    """``file.py:12 (function)``, where the user wrote it; empty if nobody knows."""
    from jax._src import source_info_util  # there is no promised name in any version

    try:
        text = source_info_util.summarize(equation.source_info)
    except Exception:
        return ""
    return "" if text == "unknown" else str(text)


def new_primitive(
    name: str,
    evaluate: Callable[..., list[Array]],
    avals: Callable[..., list[Aval]],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
) -> Any:
    """A primitive with many results that is compiled as what `evaluate` does.

    Args:
        evaluate: of arrays and parameters. avals: of the results, from those of the inputs.
        jvp, batch, transpose: rules as JAX wants them of a primitive.
    """
    primitive: Any = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(avals)
    mlir.register_lowering(primitive, mlir.lower_fun(evaluate, multiple_results=True))
    ad.primitive_jvps[primitive] = jvp
    batching.primitive_batchers[primitive] = batch
    if transpose is not None:
        ad.primitive_transposes[primitive] = transpose
    return primitive


def no_tangent(primal: Any) -> Any:
    """The zero tangent of a value, for ``jax.jvp``; of integers it has a type of its own."""
    zero_from_primal: Any = jax.custom_derivatives.zero_from_primal
    return zero_from_primal(primal)


def is_x64() -> bool:
    """Are numbers of 64 bits allowed now?"""
    config: Any = jax.config
    return bool(config.jax_enable_x64)


def is_extended(dtype: Any) -> bool:
    """Is this a type that NumPy does not know, as that of random keys?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(dtype, jax.dtypes.extended))


def is_zero(tangent: Any) -> bool:
    """Is this JAX's sign for a tangent that is zero?"""
    return type(tangent) is ad.Zero


def zero_of(tangent_aval: Aval) -> Any:
    """JAX's sign for a zero."""
    return ad.Zero(tangent_aval)


def is_unknown(primal: Any) -> bool:
    """While transposing: is this one of the linear inputs?"""
    return isinstance(primal, ad.UndefinedPrimal)


@contextlib.contextmanager
def no_trace() -> Iterator[None]:
    """Meanwhile what is computed from constants is computed at once, whoever traces outside."""
    with jax.ensure_compile_time_eval():
        yield
