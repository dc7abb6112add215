"""Operations of our own, and the signs that JAX gives and takes for their derivatives."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import jax
from jax import Array
from jax.interpreters import ad, batching, mlir

from orchestrator_core.conductor._jax.interpreters import introduce
from orchestrator_core.conductor._jax.jaxprs import Primitive
from orchestrator_core.conductor._jax.lowering import lowering_of
from orchestrator_core.conductor._jax.types import Aval


def new_primitive(
    name: str,
    evaluate: Callable[..., list[Array]],
    avals: Callable[..., list[Aval]],
    jvp: Callable[..., Any],
    batch: Callable[..., Any],
    transpose: Callable[..., Any] | None = None,
    linearize: Callable[..., Any] | None = None,
    ready: Callable[..., bytes | None] | None = None,
    original: Callable[..., list[Array]] | None = None,
) -> Any:
    """A primitive with many results that is compiled as what `evaluate` does.

    Args:
        evaluate: of arrays and parameters. avals: of the results, from those of the inputs.
        jvp, batch, transpose: rules as JAX wants them of a primitive.
        linearize: see `_linearized_by`. ready: see `lowering_of`. original: see `introduce` and
            `lowering_of`; what is evaluated if nothing else is said.
    """
    primitive: Any = Primitive(name)
    primitive.multiple_results = True
    primitive.def_impl(evaluate)
    primitive.def_abstract_eval(avals)
    mlir.register_lowering(primitive, lowering_of(evaluate, original or evaluate, ready))
    _with_devices(primitive)
    ad.primitive_jvps[primitive] = jvp
    batching.primitive_batchers[primitive] = batch
    if transpose is not None:
        ad.primitive_transposes[primitive] = transpose
    if linearize is not None:
        _linearized_by(primitive, linearize)
    introduce(primitive, original or evaluate)
    return primitive


Class = TypeVar("Class", bound=type[Any])


def held_weakly(cls: Class) -> Class:
    """Has JAX hold instances weakly that are parameters of our operations. Its caches, of
    thousands of entries, would keep each of them alive, and every array within it; what JAX has
    traced holds them as long as it lives. A JAX without such types has caches of another kind."""
    from jax._src import util

    known: Any = getattr(util, "weakref_cache_key_types", None)
    if known is not None:
        known.add(cls)
    return cls


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


def is_zero(tangent: Any) -> bool:
    """Is this JAX's sign for a tangent that is zero?"""
    return type(tangent) is ad.Zero


def zero_of(tangent_aval: Aval) -> Any:
    """JAX's sign for a zero."""
    return ad.Zero(tangent_aval)


def is_unknown(primal: Any) -> bool:
    """While transposing: is this one of the linear inputs?"""
    return isinstance(primal, ad.UndefinedPrimal)
