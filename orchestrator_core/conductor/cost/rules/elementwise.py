"""Operations on each element alone, as ``HloCostAnalysis`` of XLA counts them: an operation is one
flop, whether on integers or on numbers; a call of ``exp`` and the like is a transcendental."""

from __future__ import annotations

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

TRANSCENDENTAL = words(
    "acos acosh asin asinh atan atan2 atanh cbrt cos cosh erf exp exp2 expm1 log log1p log2 pow "
    "rsqrt sin sinh sqrt tan tanh"
)
"""One transcendental an element."""

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


@rule(*SIMPLE)
def simple(node: Node) -> Work:
    return Work(flops=made(node), nbytes=moved(node))


@rule(*TRANSCENDENTAL)
def transcendental(node: Node) -> Work:
    return Work(transcendentals=made(node), nbytes=moved(node))


@rule(*COMPOSED)
def composed(node: Node) -> Work:
    flops, calls = COMPOSED[node.name]
    return Work(flops * made(node), calls * made(node), moved(node))


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
