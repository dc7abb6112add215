"""The only door to names that JAX does not promise to keep: from here on they are ours.

JAX 0.10.2 (the last for Python 3.11), 0.11 and 0.12 are supported. What moved between them is said
beside each name.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeAlias

import jax
import jax.extend.core as extend
import jax.extend.random as extended_random
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

scan_p = extend.primitives.scan_p

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
    "is_jaxpr",
    "live",
    "new_primitive",
    "optimization_barrier_p",
    "scan_counts",
    "scan_p",
    "scan_params",
    "settings",
    "settings_of",
    "source_of",
    "trace",
    "trace_context",
]


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


def aval_of(x: Any) -> Aval:
    """Of an array, a tracer, or a Python number (which is weakly typed)."""
    return jax.typeof(x)


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


def context_of(equation: Equation) -> Callable[[], AbstractContextManager[Any]]:
    """What holds while the equation is evaluated: threefry's form, metadata, mesh; and its name
    scopes and source line, as ``jax.core.eval_jaxpr`` keeps them."""
    return functools.partial(_context, equation)


def settings(equation: Equation) -> Any:
    """The part of its context that a result depends on, hashable; an object that is the same for
    equal settings."""
    return equation.ctx


def settings_of(context: Callable[[], Any] | None) -> Any:
    """The `settings` of the equation that `context_of` was given."""
    return None if context is None else settings(context.args[0])  # type: ignore[attr-defined]


@contextlib.contextmanager
def _context(equation: Equation) -> Iterator[None]:
    from jax._src import source_info_util  # there is no promised name in any version

    info = equation.source_info
    names = source_info_util.current_name_stack() + info.name_stack
    with source_info_util.user_context(info.traceback, name_stack=names), equation.ctx.manager:
        yield


def trace_context() -> Any:
    """Settings that a trace depends on, hashable: 64 bits, precision of products, mesh."""
    from jax._src import config  # there is no promised name in any version

    return config.trace_context()


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
    with _context(equation):
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


def source_of(equation: Equation) -> str:
    """``file.py:12 (function)``, where the user wrote it; empty if nobody knows."""
    traceback = equation.source_info.traceback
    return "" if traceback is None else _users_line(traceback)


@functools.lru_cache(maxsize=4096)
def _users_line(traceback: Any) -> str:
    from jax._src import source_info_util  # there is no promised name in any version

    for code, instruction in zip(*traceback.raw_frames(), strict=True):
        file = code.co_filename
        if source_info_util.is_user_filename(file) and not file.startswith(_HERE):
            return _line(code, instruction)
    return ""


_HERE = str(pathlib.Path(__file__).parent) + os.sep


@functools.lru_cache(maxsize=4096)
def _line(code: Any, instruction: int) -> str:
    from jax._src import source_info_util

    frame = source_info_util.raw_frame_to_frame(code, instruction)
    return f"{frame.file_name}:{frame.start_line} ({frame.function_name})"


def new_primitive(
    name: str,
    evaluate: Callable[..., list[Array]],
    avals: Callable[..., list[Aval]],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
    linearize: Callable[..., Any] | None = None,
) -> Any:
    """A primitive with many results that is compiled as what `evaluate` does.

    Args:
        evaluate: of arrays and parameters. avals: of the results, from those of the inputs.
        jvp, batch, transpose: rules as JAX wants them of a primitive.
        linearize: see `_linearized_by`.
    """
    primitive: Any = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(avals)
    mlir.register_lowering(primitive, mlir.lower_fun(evaluate, multiple_results=True))
    _with_devices(primitive)
    ad.primitive_jvps[primitive] = jvp
    batching.primitive_batchers[primitive] = batch
    if transpose is not None:
        ad.primitive_transposes[primitive] = transpose
    if linearize is not None:
        _linearized_by(primitive, linearize)
    return primitive


def _with_devices(primitive: Any) -> None:
    """Has JAX say for which devices it compiles, as some operations inside must know. It looks for
    them in what it is given, and sees none within a primitive."""
    from jax._src import dispatch

    known: Any = getattr(dispatch, "prim_requires_devices_during_lowering", None)
    if known is not None:
        known.add(primitive)


def _linearized_by(primitive: Any, rule: Callable[..., Any]) -> None:
    """Has JAX linearize a primitive by a rule instead of by its jvp; the same where it cannot.

    Args:
        rule: of whether the linear function is only going to be transposed, which inputs move, and
            the inputs: outputs, which of them move, residuals, and the linear function of residuals
            and tangents.
    """
    from jax._src.interpreters import ad as internal

    def linearize(is_vjp: bool, moving: Sequence[bool], *primals: Any, **params: Any) -> Any:
        outputs, moved, residuals, linear = rule(is_vjp, tuple(moving), primals, **params)
        if jax.__version_info__ < (0, 11):
            return outputs, moved, residuals, linear
        # From 0.11 on there are residuals with a structure, too. We have none.
        return outputs, moved, residuals, None, lambda kept, _, *each: linear(kept, *each)

    rules = getattr(internal, "primitive_linearizations", None)
    if rules is not None:
        rules[primitive] = linearize


def cudnn_attention(
    query: Any,
    key: Any,
    value: Any,
    *,
    scale: float,
    is_causal: bool,
    window: int | None,
    heads_first: bool,
) -> tuple[Any, Any]:
    """Attention by cuDNN, of (batch, heads, length, d) arrays or of (batch, length, heads, d) ones,
    and of each query the logarithm of its sum of exponentials. JAX has promised a name only for the
    latter; others would be copied for it."""
    from jax._src.cudnn import fused_attention_stablehlo as cudnn

    attention: Any = cudnn.dot_product_attention
    made, sums = attention(
        query,
        key,
        value,
        scale=scale,
        mask_type=cudnn.MaskType.CAUSAL if is_causal else cudnn.MaskType.NO_MASK,
        qkv_layout="BNTH" if heads_first else "BTNH",
        sliding_window_length=window,
        return_residual=True,
    )
    return made, sums


def no_tangent(primal: Any) -> Any:
    """The zero tangent of a value, for ``jax.jvp``; of integers it has a type of its own."""
    zero_from_primal: Any = jax.custom_derivatives.zero_from_primal
    return zero_from_primal(primal)


def array_classes() -> tuple[type, ...]:
    """The classes of arrays and of random keys; they have no promised names."""
    from jax._src.array import ArrayImpl

    homes = ("jax._src.random.prng", "jax._src.prng")  # from 0.10 on, and before
    for home in homes:
        with contextlib.suppress(ImportError):
            return ArrayImpl, importlib.import_module(home).PRNGKeyArray
    return (ArrayImpl,)


def is_extended(dtype: Any) -> bool:
    """Is this a type that NumPy does not know, as that of random keys?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(dtype, jax.dtypes.extended))


def varies(aval: Aval) -> bool:
    """Is it one of several parts, which a `shard_map` says to differ from device to device?"""
    manual: Any = getattr(aval, "manual_axis_type", None)
    return bool(getattr(manual, "varying", None) or getattr(aval, "vma", None))


def is_smooth(aval: Aval) -> bool:
    """Can values of this type have a derivative?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(aval.dtype, jax.numpy.inexact))


def is_inexact(dtype: Any) -> bool:
    """Is this a type of real or complex numbers, narrow ones that NumPy does not know included?"""
    is_below: Any = jax.numpy.issubdtype
    return bool(is_below(dtype, jax.numpy.inexact))


def epsilon(dtype: Any) -> float:
    """The distance from 1 to the next number of a type."""
    information: Any = jax.numpy.finfo
    return float(information(dtype).eps)


def draws_by_position(draw: Callable[[Any], Any], key: Aval) -> bool:
    """Are an element's bits those of Threefry of the key and the element's position, whatever else
    is drawn with it? So says a setting of JAX that an equation remembers."""
    if getattr(key.dtype, "_impl", None) is not extended_random.threefry_prng_impl:
        return False
    (equation,) = trace(draw, [key]).eqns
    return bool(equation.ctx.threefry_partitionable)


def threefry(key: Any, high: Any, low: Any) -> tuple[Any, Any]:
    """Two words of 32 bits for each position, of which `high` and `low` are the words.

    Args:
        key: its two words along the last axis; the others are those of the positions, or 1.
    """
    primitive: Any = extended_random.threefry2x32_p
    first, second = primitive.bind(key[..., 0], key[..., 1], high, low)
    return first, second


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
