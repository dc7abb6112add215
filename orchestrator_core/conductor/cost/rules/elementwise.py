"""Operations on each element alone, as ``HloCostAnalysis`` of XLA counts them: an operation is one
flop, whether on integers or on numbers; a call of ``exp`` and the like is a transcendental."""

from __future__ import annotations

import jax.numpy as jnp

from orchestrator_core.conductor.cost.rules.registry import made, moved, rule, words
from orchestrator_core.conductor.cost.work import Work
from orchestrator_core.conductor.ir.node import Node

SIMPLE = words(
    "abs add add_any and bitcast_convert_type ceil clamp clz complex conj convert_element_type div "
    "eq eq_to floor ge gt imag is_finite le le_to lt lt_to max min mul ne neg not or "
    "population_count real reduce_precision rem round select_n shift_left shift_right_arithmetic "
    "shift_right_logical sign square sub xor"
)
"""One flop an element."""

CALLS = {
    **dict.fromkeys(("erf", "exp", "exp2", "tanh"), 1.0),
    **dict.fromkeys(("rsqrt", "sqrt"), 0.5),
    **dict.fromkeys(("log", "log2"), 1.5),
    **dict.fromkeys(("expm1", "log1p"), 2.5),
    **dict.fromkeys(("acosh", "asinh", "atanh", "cosh", "sinh"), 5.0),
    "atan": 10.0,
    "pow": 13.0,
    **dict.fromkeys(("cos", "sin"), 20.0),
    "atan2": 25.0,
    **dict.fromkeys(("acos", "asin", "cbrt", "tan"), 35.0),
}
"""One transcendental an element, and how many calls of ``exp`` take as long: rounded from what was
measured in JAX 0.10.2 on a CPU (EPYC, 2026), where XLA or LLVM writes them out."""

TRANSCENDENTAL = frozenset(CALLS)

COMPLEX_CALLS = {
    **dict.fromkeys(("mul", "square"), 0.14),
    "div": 0.35,
    "abs": 0.75,
    "exp": 25.0,
    **dict.fromkeys(("log", "rsqrt", "sqrt"), 17.0),
}
"""How many calls of ``exp`` of a real number take as long as one of these of a complex number, of
which XLA counts no more operations: four products and two sums are a ``mul``. Measured likewise."""

REM_CALLS = 16.0
"""Of a remainder of floats, which to XLA is one operation."""

COMPOSED = {
    "bessel_i0e": (40, 1),
    "bessel_i1e": (40, 1),
    "digamma": (60, 2),
    "erf_inv": (30, 2),
    "erfc": (40, 1),
    "igamma": (400, 10),
    "igammac": (400, 10),
    "lgamma": (50, 3),
    "logistic": (3, 1),
    "nextafter": (12, 0),
    "polygamma": (100, 4),
    "polynomial": (20, 0),
    "random_gamma": (400, 20),
    "regularized_incomplete_beta": (600, 10),
    "zeta": (100, 20),
}
"""What JAX or XLA composes of simple ones: about how many flops and transcendentals an element."""


@rule(*(SIMPLE - {"rem"}))
def simple(node: Node) -> Work:
    calls = COMPLEX_CALLS.get(node.name, 0.0) * made(node) if _is_complex(node) else 0.0
    return Work(flops=made(node), nbytes=moved(node), calls=calls)


@rule("rem")
def remainder(node: Node) -> Work:
    is_float = jnp.issubdtype(node.output.dtype, jnp.floating)
    calls = REM_CALLS * made(node) if is_float else 0.0
    return Work(flops=made(node), nbytes=moved(node), calls=calls)


@rule(*TRANSCENDENTAL)
def transcendental(node: Node) -> Work:
    count, calls = made(node), CALLS[node.name]
    if _is_complex(node):
        calls = COMPLEX_CALLS.get(node.name, calls)
    return Work(transcendentals=count, nbytes=moved(node), calls=calls * count)


def _is_complex(node: Node) -> bool:
    return bool(jnp.issubdtype(node.inputs[0].dtype, jnp.complexfloating))


@rule(*COMPOSED)
def composed(node: Node) -> Work:
    flops, calls = COMPOSED[node.name]
    done = calls * made(node)
    return Work(flops * made(node), done, moved(node), calls=done)


@rule("one_minus_square")
def one_minus_square(node: Node) -> Work:
    """(1 - x)(1 + x), from JAX 0.11 on in the derivative of ``tanh``."""
    return Work(flops=3 * made(node), nbytes=moved(node))


@rule("integer_pow")
def integer_pow(node: Node) -> Work:
    """By squaring."""
    power = abs(node.params["y"])
    products = max(0, power.bit_length() - 1) + max(0, power.bit_count() - 1)
    return Work(flops=(products + (node.params["y"] < 0)) * made(node), nbytes=moved(node))
