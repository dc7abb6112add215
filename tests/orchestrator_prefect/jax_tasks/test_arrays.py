"""JAX arrays in what Prefect hands to Dask: their memory is no part of the pickle."""

from __future__ import annotations

import pickle
import subprocess
import sys
from typing import Any

import cloudpickle
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from distributed.protocol import deserialize, serialize
from prefect.cache_policies import INPUTS
from prefect.states import Completed

from orchestrator_prefect.jax_tasks import arrays


@pytest.fixture(autouse=True)
def registered() -> None:
    arrays.register()


def test_a_state_travels_with_the_arrays_own_memory_and_no_copy_of_it() -> None:
    array = jnp.arange(250_000, dtype=jnp.float32)
    state: Any = Completed(data={"weights": array, "name": "w"})
    header, frames = serialize(state)
    views = [np.frombuffer(frame, np.uint8) for frame in frames]
    own = [view for view in views if view.ctypes.data == array.unsafe_buffer_pointer()]
    assert [view.nbytes for view in own] == [1_000_000]
    copied = sum(view.nbytes for view in views) - 1_000_000
    assert copied < 10_000, "what is pickled is the state around it"
    back = deserialize(header, frames).data
    np.testing.assert_array_equal(back["weights"], array)
    assert back["name"] == "w"


def test_jax_itself_would_copy_all_of_it() -> None:
    """So there is a point in this; where it fails, JAX does better, and ours can go."""
    array = jnp.arange(250_000, dtype=jnp.float32)
    rebuild, parts = array.__reduce__()
    assert len(pickle.dumps(parts, protocol=5, buffer_callback=lambda each: False)) > 1_000_000
    assert callable(rebuild)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_every_protocol_and_cloudpickle_bring_it_back(protocol: int) -> None:
    tree = {"x": jnp.ones((3, 2), jnp.bfloat16), "key": jax.random.key(1), "weak": jnp.asarray(2.0)}
    for module in (pickle, cloudpickle):
        back = module.loads(module.dumps(tree, protocol=protocol))
        assert back["x"].dtype == jnp.bfloat16
        np.testing.assert_array_equal(back["x"], tree["x"])
        np.testing.assert_array_equal(jax.random.bits(back["key"]), jax.random.bits(tree["key"]))
        assert back["weak"].aval.weak_type


def test_prefects_keys_of_arguments_tell_arrays_apart() -> None:
    """By which a cached result is found."""
    x = jnp.arange(5.0)
    keys = [INPUTS.compute_key(None, {"x": each}, {}) for each in (x, x + 0, x + 1)]  # type: ignore[arg-type]
    assert keys[0] == keys[1] != keys[2]
    assert None not in keys


def test_where_there_is_no_jax_it_is_an_array_of_numpy() -> None:
    told = pickle.dumps(jnp.arange(3, dtype=jnp.float32))
    program = (
        "import pickle, sys; sys.modules['jax'] = None\n"
        "found = pickle.loads(sys.stdin.buffer.read())\n"
        "print(type(found).__module__, found.dtype, found.tolist())"
    )
    done = subprocess.run([sys.executable, "-c", program], input=told, capture_output=True)
    assert done.stdout.decode().strip() == "numpy float32 [0.0, 1.0, 2.0]", done.stderr
