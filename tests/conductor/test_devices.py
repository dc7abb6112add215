"""What is where on the devices of a process; with two of them, in a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

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


def test_arrays_are_found_on_their_devices_and_results_made_where_they_are_to_be() -> None:
    two = {"XLA_FLAGS": "--xla_force_host_platform_device_count=2", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=os.environ | two, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    assert json.loads(done.stdout) == {
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
