"""Operations that are exact, or correctly rounded, wherever they run."""

from __future__ import annotations

EXACT = frozenset(
    (
        *("abs", "add", "and", "ceil", "clamp", "convert_element_type", "div", "eq", "floor", "ge"),
        *("gt", "is_finite", "le", "lt", "max", "min", "mul", "ne", "neg", "not", "or", "rem"),
        *("select_n", "sign", "stop_gradient", "sub", "xor"),
    )
)
"""By their names in JAX. So a number may be known before the program runs."""
