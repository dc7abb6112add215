"""Signatures: equal for the same computation, different for any other."""

from __future__ import annotations

import functools
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.signature import signature

X = jnp.ones((3, 4))


def signed(function: Callable[..., Any], *args: Any) -> str:
    return signature(read(jax.make_jaxpr(function)(*args)))


def base(x: jax.Array) -> jax.Array:
    return jax.lax.scan(lambda c, y: (c * 2 + y, c), x[0], x)[1].sum() + jax.nn.softmax(x).max()


def test_the_same_function_has_the_same_name() -> None:
    assert signed(base, X) == signed(base, X)
    assert signed(base, X) == signed(jax.jit(base), X)


@pytest.mark.parametrize(
    ("function", "args"),
    [
        (base, (jnp.ones((3, 5)),)),
        (base, (jnp.ones((3, 4), "bfloat16"),)),
        (lambda x: base(x) + 1, (X,)),
        (lambda x: base(2 * x), (X,)),
        (functools.partial(lambda k, x: jnp.sum(x, k), 0), (X,)),
        (functools.partial(lambda k, x: jnp.sum(x, k), 1), (X,)),
        (lambda x: x * 2, (X,)),
        (lambda x: x * 3, (X,)),
        (lambda x: x * 2, (1.0,)),
        (lambda x: x * 2, (jnp.float32(1.0),)),
        (lambda x: x - x[0], (X,)),
        (lambda x: x[0] - x, (X,)),
        (lambda x: jax.lax.scan(lambda c, y: (c * 3 + y, c), x[0], x)[1], (X,)),
        (lambda x: jax.lax.scan(lambda c, y: (c * 2 + y, c), x[0], x, reverse=True)[1], (X,)),
        (lambda x: jax.lax.scan(lambda c, y: (c * 2 + y, c), x[0], x)[1], (X,)),
    ],
)
def test_no_two_of_these_are_the_same(function: Callable[..., Any], args: Any) -> None:
    name = signed(function, *args)
    assert NAMES.setdefault(name, (function, args)) == (function, args)


NAMES: dict[str, Any] = {}


def test_elements_of_constants_do_not_count() -> None:
    a, b = (np.arange(12.0, dtype="float32").reshape(3, 4) + k for k in range(2))
    assert signed(lambda x: x + a, X) == signed(lambda x: x + b, X)


def test_functions_count_by_their_names() -> None:
    def with_callback(k: int) -> str:
        shape = jax.ShapeDtypeStruct((3, 4), jnp.float32)
        return signed(lambda x: jax.pure_callback(lambda y: y + k, shape, x), X)

    assert with_callback(1) == with_callback(2)


PROGRAM = """
import jax, jax.numpy as jnp
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.ir.signature import signature
def f(x):
    x = jax.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
    return jax.pure_callback(abs, jax.ShapeDtypeStruct((3, 4), "float32"), x @ x.T @ x)
print(signature(read(jax.make_jaxpr(f)(jnp.ones((3, 4))))))
"""


def test_it_is_the_same_in_another_process(capsys: pytest.CaptureFixture[str]) -> None:
    command = [sys.executable, "-c", PROGRAM]
    there = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    exec(PROGRAM, {})
    assert capsys.readouterr().out == there
    assert len(there.strip()) == 32
