"""What JAX hands to a compiler, and operations that bring it along ready made."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.interpreters import mlir

from orchestrator_core.conductor._jax.types import Aval, ShapedArray, is_extended

NAME = "conducted"
"""Of the function in a module; JAX numbers those that have the same."""


def lowered(function: Callable[..., list[Any]], avals: Sequence[Aval], platform: str) -> bytes:
    """A function of flat arrays as JAX lowers it for one device of a platform, in MLIR's bytecode:
    good for this version of JAX.

    Raises:
        ValueError: if it is more than a function of these arrays. Or whatever JAX says.
    """
    if not all(map(_is_plain, avals)):
        raise ValueError("it takes what is no plain array")
    shaped: Any = jax.ShapeDtypeStruct
    given = [shaped(each.shape, each.dtype, weak_type=each.weak_type) for each in avals]
    with jax.core.eval_context():
        traced: Any = jax.jit(function, keep_unused=True).trace(*given)
        made = traced.lower(lowering_platforms=(platform,))
    module: Any = made.compiler_ir("stablehlo")
    main = next(each for each in module.body.operations if each.sym_name.value == "main")
    if len(main.arguments) != len(avals):
        raise ValueError("it takes constants from outside")
    written = io.BytesIO()
    module.operation.write_bytecode(written)
    return written.getvalue()


def lowering_of(
    evaluate: Callable[..., list[Any]],
    original: Callable[..., list[Any]],
    ready: Callable[..., bytes | None] | None,
) -> Callable[..., Any]:
    """The lowering rule of an operation with many results.

    Args:
        evaluate: what it does, of arrays and parameters. original: what is lowered in a program for
            several devices: XLA shares out the work of that, and none of loops over tiles.
        ready: of a platform and the parameters: the same as `lowered` gave it; None if it is not at
            hand. It is asked where the program is for one device of one platform; None if nobody
            has it.
    """
    plainly = mlir.lower_fun(evaluate, multiple_results=True)
    originally = mlir.lower_fun(original, multiple_results=True)

    def rule(context: Any, *values: Any, **params: Any) -> Any:
        if _is_for_several(context):
            return originally(context, *values, **params)
        platform = _only_platform(context)
        written = ready(platform, **params) if ready is not None and platform else None
        module = None if written is None else _parsed(written)
        if module is None:
            return plainly(context, *values, **params)
        return _merged(context, module, values)

    return rule


def _is_for_several(context: Any) -> bool:
    """Does XLA share out the program among devices? What is within a `shard_map` is for one."""
    axes = context.module_context.axis_context
    mesh: Any = getattr(axes, "mesh", None)
    manual: frozenset[Any] = getattr(axes, "manual_axes", frozenset())
    if mesh is not None:
        return any(size > 1 for name, size in mesh.shape.items() if name not in manual)
    return (getattr(axes, "num_devices", None) or 1) > 1


def _only_platform(context: Any) -> str:
    """Of a program for one device, that is not written down for others; else empty."""
    around = context.module_context
    devices = getattr(around.axis_context, "num_devices", None)
    is_for_others = getattr(around.lowering_parameters, "for_export", True)
    is_plain = all(map(_is_plain, (*context.avals_in, *context.avals_out)))
    if devices != 1 or len(around.platforms) != 1 or is_for_others or not is_plain:
        return ""
    return str(around.platforms[0])


def _parsed(written: bytes) -> Any:
    """None if it cannot be read, by whatever version of MLIR."""
    ir: Any = mlir.ir
    try:
        return ir.Module.parse(written)
    except Exception:
        return None


def _merged(context: Any, module: Any, values: Sequence[Any]) -> list[Any]:
    """The results of a call of the module's function, which becomes one of those around it."""
    ir: Any = mlir.ir
    around = context.module_context
    merge: Any = mlir.merge_mlir_modules
    name = merge(around.module, NAME, module, dst_symtab=around.symbol_table)
    call = ir.Operation.create(
        "func.call",
        results=around.symbol_table[name].type.results,
        operands=list(values),
        attributes={"callee": ir.FlatSymbolRefAttr.get(name)},
    )
    return list(call.results)


def _is_plain(aval: Aval) -> bool:
    return isinstance(aval, ShapedArray) and not is_extended(aval.dtype)
