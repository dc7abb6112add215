"""Operations that do the same with each element: operands have the result's shape, or none."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.facts.axes import Spec, Untileable, whole
from orchestrator_core.conductor.facts.transfer.rule import RULES, Rule, through
from orchestrator_core.conductor.ir.node import Node

_NAMES = """
abs acos acosh add add_any and asin asinh atan atan2 atanh bessel_i0e bessel_i1e cbrt ceil clamp
clz complex conj convert_element_type copy copy_p cos cosh digamma div eq erf erf_inv erfc exp
exp2 expm1 floor ge gt igamma igammac imag integer_pow is_finite le lgamma log log1p log2 logistic
lt max min mul name ne neg nextafter not one_minus_square or polygamma population_count pow real
reduce_precision rem round rsqrt select_n shift_left shift_right_arithmetic shift_right_logical
sign sin sinh sqrt square stop_gradient sub tan tanh xor zeta
"""

ELEMENTWISE = frozenset(_NAMES.split())


def operand(shape: Sequence[int], out_shape: Sequence[int], out: Spec) -> Spec:
    """The spec of an operand of a shape, which may be that of a scalar."""
    if not shape:
        return ()
    pairs = zip(shape, out_shape, out, strict=True)
    return tuple(axis if size == made else () for size, made, axis in pairs)


def back(node: Node, spec: Spec) -> list[Spec]:
    shape = node.output.shape
    return [operand(each.shape, shape, spec) for each in node.inputs]


def _out(node: Node, place: int, spec: Spec) -> Spec:
    given, made = node.inputs[place].shape, node.output.shape
    if not given:
        raise Untileable("a scalar")
    triples = zip(given, made, spec, strict=True)
    return tuple(axis if size == full else whole(full) for size, full, axis in triples)


RULES.update(dict.fromkeys(ELEMENTWISE, Rule(back, through(back, _out))))
