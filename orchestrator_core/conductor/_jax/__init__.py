"""The only door to names that JAX does not promise to keep: from here on they are ours.

JAX 0.10.2 (the last for Python 3.11), 0.11 and 0.12 are supported. What moved between them is said
beside each name.
"""

from __future__ import annotations

from orchestrator_core.conductor._jax.configuration import trace_context, written_settings
from orchestrator_core.conductor._jax.cudnn import cudnn_attention
from orchestrator_core.conductor._jax.draws import (
    draws_by_position,
    generator,
    generator_of,
    threefry,
)
from orchestrator_core.conductor._jax.equations import (
    Equation,
    context_of,
    settings,
    settings_of,
    source_of,
)
from orchestrator_core.conductor._jax.interpreters import tell_interpreters
from orchestrator_core.conductor._jax.jaxprs import (
    Jaxpr,
    Literal,
    Primitive,
    Tracer,
    bind,
    inner,
    is_jaxpr,
    is_tracing,
    live,
    no_trace,
    optimization_barrier_p,
    scan_counts,
    scan_p,
    scan_params,
    trace,
    with_tracers_as_inputs,
    written_out,
)
from orchestrator_core.conductor._jax.lowering import lowered
from orchestrator_core.conductor._jax.primitives import (
    held_weakly,
    is_unknown,
    is_zero,
    new_primitive,
    zero_of,
)
from orchestrator_core.conductor._jax.types import (
    Aval,
    ShapedArray,
    array_classes,
    aval_of,
    epsilon,
    is_extended,
    is_inexact,
    is_on_mesh,
    is_smooth,
    varies,
)

__all__ = [
    "Aval",
    "Equation",
    "Jaxpr",
    "Literal",
    "Primitive",
    "ShapedArray",
    "Tracer",
    "array_classes",
    "aval_of",
    "bind",
    "context_of",
    "cudnn_attention",
    "draws_by_position",
    "epsilon",
    "generator",
    "generator_of",
    "held_weakly",
    "inner",
    "is_extended",
    "is_inexact",
    "is_jaxpr",
    "is_on_mesh",
    "is_smooth",
    "is_tracing",
    "is_unknown",
    "is_zero",
    "live",
    "lowered",
    "new_primitive",
    "no_trace",
    "optimization_barrier_p",
    "scan_counts",
    "scan_p",
    "scan_params",
    "settings",
    "settings_of",
    "source_of",
    "tell_interpreters",
    "threefry",
    "trace",
    "trace_context",
    "varies",
    "with_tracers_as_inputs",
    "written_out",
    "written_settings",
    "zero_of",
]
