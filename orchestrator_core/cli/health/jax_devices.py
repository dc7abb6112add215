"""JAX and its devices, if the `[jax]` extra is installed."""

from __future__ import annotations

from importlib.util import find_spec

from orchestrator_core.cli.health.check import Check, good, warning
from orchestrator_core.cli.health.probe import ProbeFailed, probe

NAME = "JAX"
_DEVICES = """
import json
import jax
print(json.dumps([jax.__version__, [str(device.device_kind) for device in jax.devices()]]))
"""
_MODEST = {"XLA_PYTHON_CLIENT_PREALLOCATE": "false", "JAX_LOG_LEVEL": "ERROR"}
"""A look must not take a device's memory from who is using it."""


def check_jax() -> Check:
    """Which devices does it see?"""
    if find_spec("jax") is None:
        return good(
            NAME, "is not installed; it is optional: pip install 'prefect-orchestrator[jax]'"
        )
    try:
        version, devices = probe(_DEVICES, _MODEST)
    except ProbeFailed as failure:
        return warning(
            NAME,
            f"is installed, but finds no device: {failure}",
            "ask again when this machine is idle; if it still finds none, mend the accelerator's "
            "driver, or set JAX_PLATFORMS=cpu to do without",
        )
    kinds = ", ".join(f"{devices.count(kind)} × {kind}" for kind in dict.fromkeys(devices))
    return good(NAME, f"{version} sees {kinds}")
