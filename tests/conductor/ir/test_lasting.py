"""Names that outlive the process: the same for what is the same, and for nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import jax
import jax.extend.random
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir import lasting as names
from orchestrator_core.conductor.ir.fingerprint import fingerprint
from orchestrator_core.conductor.ir.lasting import Nameless, lasting
from tests.conductor.ir.traces import OTHERS, X, net


def of(function: Callable[..., Any], *args: Any) -> str:
    return lasting(fingerprint(jax.make_jaxpr(function)(*args)))


PROGRAM = """
import jax, numpy as np
from tests.conductor.ir import test_lasting as here
print(here.of(here.net, here.X), here.of(here.with_constants(np.arange(12.0)), here.X))
"""


def with_constants(numbers: np.ndarray) -> Callable[[jax.Array], jax.Array]:
    numbers = numbers.astype("float32").reshape(3, 4)
    return lambda x: jax.lax.scan(lambda c, y: (c + jnp.sum(y * numbers), c), 0.0, x)[1]


def test_another_process_finds_the_same() -> None:
    found = {
        subprocess.run(
            [sys.executable, "-c", PROGRAM],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert found == {f"{of(net, X)} {of(with_constants(np.arange(12.0)), X)}\n"}


def test_no_two_of_these_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_jax, "source_of", lambda equation: "")
    assert len({of(function, argument) for function, argument in OTHERS}) == len(OTHERS)


CONSTANTS = [
    np.zeros(12),
    -np.zeros(12),
    np.arange(12.0),
    np.where(np.arange(12) == 7, np.nan, np.arange(12.0)),
]


def test_of_constants_the_elements_count() -> None:
    """In bodies, too; the sign of a zero is one of them."""
    found = [[of(with_constants(c.copy()), X) for c in CONSTANTS] for _ in range(2)]
    assert found[0] == found[1]
    assert len(set(found[0])) == len(CONSTANTS)


def draw(key: jax.Array) -> jax.Array:
    return jax.random.bits(key, (3,))


def test_generators_count() -> None:
    kinds = ("threefry2x32", "rbg", "unsafe_rbg")
    found = [of(draw, jax.random.key(0, impl=kind)) for kind in kinds]
    found += [of(lambda x, k=kind: draw(jax.random.key(0, impl=k)), X) for kind in kinds]
    assert len(set(found)) == len(found)


def test_settings_count() -> None:
    found = []
    for is_partitionable in (True, False):
        with jax.threefry_partitionable(is_partitionable):
            found.append(of(draw, jax.random.PRNGKey(0)))
    assert found[0] != found[1]


def called_back(x: jax.Array) -> jax.Array:
    return jax.pure_callback(np.sin, jax.ShapeDtypeStruct(x.shape, x.dtype), x)


def by_an_operation_of_ones_own(x: jax.Array) -> jax.Array:
    own = _jax.Primitive("sin")  # JAX has another of this name
    own.def_abstract_eval(lambda aval: aval)
    return own.bind(x)


def by_a_generator_of_ones_own(x: jax.Array) -> jax.Array:
    own = jax.extend.random.define_prng_impl(
        key_shape=(2,),
        seed=lambda seed: jnp.zeros(2, "uint32"),
        split=lambda key, shape: jnp.zeros((*shape, 2), "uint32"),
        random_bits=lambda key, width, shape: jnp.zeros(shape, "uint32"),
        fold_in=lambda key, data: key,
        name="threefry2x32",  # JAX has another of this name
        tag="fry",
    )
    return x + jax.random.uniform(jax.random.wrap_key_data(jnp.zeros(2, "uint32"), impl=own))


@pytest.mark.parametrize(
    "function", [called_back, by_an_operation_of_ones_own, by_a_generator_of_ones_own]
)
def test_what_cannot_be_written_down_has_none(function: Callable[..., Any]) -> None:
    with pytest.raises(Nameless):
        of(function, X)


def test_many_constants_are_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    function = with_constants(np.arange(12.0))
    monkeypatch.setattr(names, "MOST_BYTES", 48)
    assert of(function, X)
    monkeypatch.setattr(names, "MOST_BYTES", 47)
    with pytest.raises(Nameless):
        of(function, X)


def test_a_constant_that_was_given_away_has_none() -> None:
    constant = jnp.arange(4.0)
    trace = fingerprint(jax.make_jaxpr(lambda x: x + constant)(X))
    constant.delete()
    with pytest.raises(Nameless):
        lasting(trace)
