"""JAX, its devices and whether it can be trusted, if the `[jax]` extra is installed."""

from __future__ import annotations

from importlib.util import find_spec

from orchestrator_core.cli.health.check import Check, good, warning
from orchestrator_core.cli.health.probe import ProbeFailed, probe

NAME = "JAX"
_DEVICES = """
import json
import jax
import jax.numpy as jnp

def squares(rows):
    return jax.vmap(lambda row: ((jnp.eye(3) @ row) ** 2).sum())(rows)

def projected(rows, pairs):
    return pairs * (rows * pairs).sum(2, keepdims=True)

def repeated(weights, rows):
    return (jnp.broadcast_to(weights[:, None], (64, *rows.shape)) * rows * 2).sum(1)

rows = jnp.zeros((32_769, 3)).at[-1, 0].set(1.0)
is_right = float(jax.jit(squares)(rows)[-1]) == 1.0
pairs = jnp.arange(64.0 * 64 * 24).reshape(64, 64, 24) % 11
is_right &= bool((jax.jit(projected)(pairs[0], pairs) == projected(pairs[0], pairs)).all())
weights, rows = pairs[0, :, 1], pairs[1]
is_right &= bool((jax.jit(repeated)(weights, rows) == repeated(weights, rows)).all())
kinds = [str(device.device_kind) for device in jax.devices()]
print(json.dumps([jax.__version__, kinds, is_right]))
"""
"""With sums that jaxlib 0.10.2 gets wrong on CPUs: the last row is left out (jax-ml/jax#39103),
numbers of a product are taken from the other side of its diagonal, and some from anywhere."""

_MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_LOG_LEVEL": "ERROR"}
"""A look must not take a device's memory from who is using it."""


def check_jax() -> Check:
    """Which devices does it see?"""
    if find_spec("jax") is None:
        return good(NAME, "is not installed; it is optional: pip install 'jax>=0.10.2'")
    try:
        version, devices, is_right = probe(_DEVICES, _MODEST)
    except ProbeFailed as failure:
        return warning(
            NAME,
            f"is installed, but finds no device: {failure}",
            "ask again when this machine is idle; if it still finds none, mend the accelerator's "
            "driver, or set JAX_PLATFORMS=cpu to do without",
        )
    kinds = ", ".join(f"{devices.count(kind)} × {kind}" for kind in dict.fromkeys(devices))
    if not is_right:
        return warning(
            NAME,
            f"{version} sees {kinds}, but some of its compiled sums are wrong",
            "install a newer jax and jaxlib, or set "
            "XLA_FLAGS=--xla_cpu_experimental_ynn_fusion_type=-reduce (jax-ml/jax#39103)",
        )
    return good(NAME, f"{version} sees {kinds}")
