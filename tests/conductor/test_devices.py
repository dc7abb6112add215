"""What is where on the devices of a process; with two of them, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.custom_partitioning import custom_partitioning

from orchestrator_core.conductor import Conducted, Goal

PROGRAM = """
import json
import jax, jax.numpy as jnp, numpy as np
from orchestrator_core.conductor import devices
from orchestrator_core.conductor.ahead import Ahead
from orchestrator_core.conductor.goal import Goal
first, second = devices.here()
kilobyte = np.zeros(256, np.float32)
free, bound = jnp.asarray(kilobyte), jax.device_put(kilobyte, second)
said = {
    "bound": [d.id for d in devices.bound_to({"a": free, "b": [bound, "text"]})],
    "free": len(devices.bound_to((free, 3))),
    "on": [devices.on((free, bound, kilobyte), d) for d in (first, second)],
    "missing": [devices.missing((free, kilobyte), d) for d in (first, second)],
    "taken": devices.taken(second),
    "memory": devices.memory_of(first),
}
ahead = Ahead(lambda x, y: x + y, Goal())
made = ahead.prepare((free, kilobyte), {}, second)()
said["made_on"] = [d.id for d in made.devices()]
said["follows"] = [d.id for d in ahead.prepare((bound, free), {})().devices()]
said["moved"] = [d.id for d in ahead.prepare((made, free), {}, first)().devices()]
said["taken_then"] = devices.taken(second)
print(json.dumps(said))
"""


def on_two_devices(program: str) -> Any:
    """What it prints, as JSON."""
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", program], env=os.environ | two, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return json.loads(done.stdout)


def test_arrays_are_found_on_their_devices_and_results_made_where_they_are_to_be() -> None:
    assert on_two_devices(PROGRAM) == {
        "bound": [1],
        "free": 0,
        "on": [1024, 1024],
        "missing": [1024, 2048],
        "taken": 1024,
        "memory": None,
        "made_on": [1],
        "follows": [1],
        "moved": [0],
        "taken_then": 2048,
    }


APART = """
import json
import jax, jax.numpy as jnp
from orchestrator_core.conductor import conduct

def distance(a, b):
    return ((a - b) ** 2).sum()

first, second = (jax.device_put(jnp.ones(3), device) for device in jax.devices())
said = []
for function in (jax.jit(distance), conduct(distance)):
    try:
        function(first, second)
    except ValueError as error:
        said.append(str(error))
print(json.dumps(said))
"""


def test_who_mixes_devices_is_told_in_which_function() -> None:
    by_jax, ours = on_two_devices(APART)
    for said in (by_jax, ours):
        assert "incompatible devices" in said
        assert said.count("of distance with shape") == 2


PLACED = """
import json
import jax, jax.numpy as jnp
from jax import lax
from jax.sharding import NamedSharding, PartitionSpec
from orchestrator_core.conductor import conduct

mesh = jax.make_mesh((2,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
spec = PartitionSpec("d", None)
here = NamedSharding(mesh, spec)
x = jnp.arange(32.0).reshape(8, 4)
functions = {
    "a constraint": lambda x: jnp.sin(lax.with_sharding_constraint(x * 2, here)),
    "in a loop": lambda x: lax.scan(
        lambda h, u: (lax.with_sharding_constraint(h, here) * 0.5 + u, None), x, x[:, None]
    )[0],
    "a map": jax.shard_map(jnp.sin, mesh=mesh, in_specs=spec, out_specs=spec),
    "of a call": jax.jit(jnp.sin, out_shardings=here),
}
said = {}
for name, function in functions.items():
    ours, plain = conduct(function), jax.jit(function)
    def loss(x, of): return of(x).sum()
    pairs = [(ours(x), plain(x))]
    pairs += [tuple(jax.jit(jax.grad(loss), static_argnums=1)(x, each) for each in (ours, plain))]
    same = [bool((a == b).all()) and a.sharding.is_equivalent_to(b.sharding, 2) for a, b in pairs]
    said[name] = [*same, len(pairs[0][0].devices()), "several devices" in ours.explain(x).reason]
print(json.dumps(said))
"""


def test_a_program_that_names_several_devices_is_on_them() -> None:
    said = on_two_devices(PLACED)
    assert len(said) == 4
    assert said == {name: [True, True, 2, True] for name in said}


SPREAD = """
import json
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import AxisType, NamedSharding, PartitionSpec
from orchestrator_core.conductor import Conducted, Goal

def attention(q, k):
    return jax.nn.softmax(q @ k.T) @ k

def loss(f):
    return lambda q, k: jnp.sin(f(q, k)).sum()

ours = Conducted(attention, Goal(always=True))
inside = Conducted(jax.grad(loss(attention), (0, 1)), Goal(always=True))
cases = {
    "call": (ours, attention),
    "gradient within": (inside, jax.grad(loss(attention), (0, 1))),
    "gradient around": (jax.grad(loss(ours), (0, 1)), jax.grad(loss(attention), (0, 1))),
    "batch": (jax.vmap(ours, (0, None)), jax.vmap(attention, (0, None))),
}
whole = [np.random.default_rng(k).normal(size=(256, 8)).astype("f4") for k in (0, 1)]
tiles = {n: "while" in jax.jit(f).lower(*[w if n != "batch" else w[None] for w in whole[:1]],
         whole[1]).as_text() for n, (f, _) in cases.items()}
around = cases["gradient around"][0]
said = {"tiles": tiles, "parts": "conducted_part" in str(jax.make_jaxpr(around)(*whole))}
for kind in (AxisType.Auto, AxisType.Explicit):
    mesh = jax.make_mesh((2,), ("d",), axis_types=(kind,))
    with jax.set_mesh(mesh):
        for name, (f, plain) in cases.items():
            spec = PartitionSpec(None, "d") if name == "batch" else PartitionSpec("d")
            q = whole[0][None] if name == "batch" else whole[0]
            given = [jax.device_put(q, NamedSharding(mesh, spec)),
                     jax.device_put(whole[1], NamedSharding(mesh, PartitionSpec()))]
            made, want = (jax.tree.leaves(jax.jit(g)(*given)) for g in (f, plain))
            text = jax.jit(f).lower(*given).compile().as_text()
            said[f"{kind.name} {name}"] = [
                bool(all(np.allclose(a, b, rtol=1e-4, atol=1e-4) for a, b in zip(made, want))),
                [a.sharding.is_equivalent_to(b.sharding, a.ndim) for a, b in zip(made, want)],
                "while" in text,
            ]
            seen = "conducted[" in str(jax.make_jaxpr(f)(*given))
            said.setdefault(f"{kind.name} seen", []).append(seen)
            reason = ours.explain(*given).reason if name == "call" else ""
            said[f"{kind.name} reason"] = said.get(f"{kind.name} reason", "") + reason
mesh = jax.make_mesh((2,), ("d",), axis_types=(AxisType.Auto,))
rows = PartitionSpec("d")
part = jax.shard_map(ours, mesh=mesh, in_specs=(rows, PartitionSpec()), out_specs=rows,
                     check_vma=False)
said["mapped"] = "while" in jax.jit(part).lower(*whole).as_text()
print(json.dumps(said))
"""


def test_what_is_shared_out_among_devices_runs_as_it_was() -> None:
    """Of a loop over tiles XLA shares out nothing: each device did all of it. Where types say how
    arrays lie, loops could not even be traced."""
    said = on_two_devices(SPREAD)
    assert all(said.pop("tiles").values()), "on one device there are tiles"
    assert said.pop("parts"), "there a gradient takes residuals"
    assert said.pop("mapped"), "and there are tiles in the part of each device"
    for kind in ("Auto", "Explicit"):
        assert "several devices" in said.pop(f"{kind} reason")
    # Types that name a mesh are seen before anything is planned.
    assert any(said.pop("Auto seen"))
    assert not any(said.pop("Explicit seen"))
    assert len(said) == 8
    assert {name: [same, all(there), loops] for name, (same, there, loops) in said.items()} == {
        name: [True, True, False] for name in said
    }


@pytest.mark.parametrize("is_checked", [True, False])
def test_within_a_shard_map(is_checked: bool) -> None:
    """Where JAX checks over which axes arrays vary, it sees the function as it was."""
    mesh = jax.make_mesh((1,), ("d",), axis_types=(jax.sharding.AxisType.Auto,))
    spec: Any = jax.sharding.PartitionSpec
    rows, all_of_it = spec("d"), spec()
    x = jnp.linspace(-1.0, 1.0, 280).reshape(70, 4)

    def attention(q: Any, k: Any) -> Any:
        return jnp.tanh(q @ k.T) @ k

    conducted = Conducted(attention, Goal(always=True))

    def loss(q: Any, k: Any, of: Any) -> Any:
        part = jax.shard_map(
            of, mesh=mesh, in_specs=(rows, all_of_it), out_specs=rows, check_vma=is_checked
        )
        return jnp.sin(part(q, k)).sum()

    of = jax.value_and_grad(loss, (0, 1))
    for ours, plain in zip(
        jax.tree.leaves(of(x, x[::-1], conducted)),
        jax.tree.leaves(of(x, x[::-1], attention)),
        strict=True,
    ):
        np.testing.assert_allclose(ours, plain, rtol=1e-4, atol=1e-4)
    assert ("shard_map" in conducted.explain().reason) is is_checked
    np.testing.assert_allclose(conducted(x, x), attention(x, x), rtol=1e-4)
    assert conducted.explain(x, x).reason == ""


def test_an_operation_that_asks_which_devices_it_is_for() -> None:
    """So do those that say how they are divided, cuDNN's attention among them."""

    @custom_partitioning
    def doubled(x: Any) -> Any:
        return x + x

    def partition(mesh: Any, given: Any, made: Any) -> Any:
        return mesh, lambda x: x + x, made.sharding, [each.sharding for each in given]

    doubled.def_partition(partition=partition, sharding_rule="i j -> i j")  # type: ignore[no-untyped-call]
    x = jnp.ones((70, 70))

    def function(x: Any) -> Any:
        return jax.nn.softmax(doubled(x) @ x) @ x

    np.testing.assert_allclose(jax.jit(Conducted(function, Goal()))(x), function(x), rtol=1e-5)
