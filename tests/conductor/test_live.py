"""What no output needs is left out of a program, of its loops too."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import lax

from orchestrator_core.conductor import _jax


def summed(x: Any) -> list[Any]:
    """With sorted rows and a second carry that nobody reads."""

    def step(carry: Any, row: Any) -> Any:
        total, largest = carry
        return (total + row, jnp.maximum(largest, row)), jnp.sort(row)

    (total, _), _ = lax.scan(step, (x[0], x[0]), x)
    return [total]


def told(x: Any) -> list[Any]:
    jax.debug.print("{}", jnp.sort(x))
    return [x + 1]


def scans(jaxpr: Any) -> list[Any]:
    return [each for each in _jax.inner(jaxpr)[0].eqns if each.primitive is _jax.scan_p]


@pytest.mark.parametrize("is_one_class", [False, True], ids=["0.10", "0.11"])
def test_loops_carry_what_is_needed(is_one_class: bool) -> None:
    """From 0.11 on there is one class of jaxprs; here an open one stands for it."""
    x = np.arange(15.0, dtype=np.float32).reshape(5, 3)
    jaxpr = _jax.trace(summed, [jax.typeof(x)])
    made = _jax.live(_jax.inner(jaxpr)[0] if is_one_class else jaxpr)
    (before,), (after,) = scans(jaxpr), scans(made)
    assert (len(before.outvars), len(after.outvars)) == (3, 1)
    assert [str(each) for each in made.in_avals] == ["float32[5,3]"]
    (found,) = jax.core.eval_jaxpr(*_jax.inner(made), x)
    np.testing.assert_array_equal(found, summed(x)[0])


def test_side_effects_stay() -> None:
    jaxpr = _jax.trace(told, [jax.ShapeDtypeStruct((3,), np.dtype("float32"))])
    assert _jax.live(jaxpr).effects == jaxpr.effects
    assert len(_jax.inner(_jax.live(jaxpr))[0].eqns) == len(_jax.inner(jaxpr)[0].eqns)


def test_where_nothing_is_dead_all_stays() -> None:
    jaxpr = _jax.trace(lambda x: [jnp.sin(x) * 2], [jax.ShapeDtypeStruct((3,), "float32")])
    assert str(_jax.live(jaxpr)) == str(jaxpr)
