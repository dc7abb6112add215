"""JAX's settings, as far as what it traces and lowers depends on them."""

from __future__ import annotations

from typing import Any

import jax

ABOUT_OTHERS = ("cache", "log", "dump", "dir")
"""In the names of settings that have no say in programs."""


def trace_context() -> Any:
    """Settings that a trace depends on, hashable: 64 bits, precision of products, mesh."""
    from jax._src import config  # there is no promised name in any version

    return config.trace_context()


def written_settings() -> str:
    """Those of the trace that goes on, and those of the process, in words that are the same in
    every process with the same settings; empty where one of them cannot be put in words."""
    values: dict[str, Any] = getattr(jax.config, "values", {})
    told = {k: v for k, v in values.items() if not any(word in k for word in ABOUT_OTHERS)}
    text = repr((sorted((name, repr(value)) for name, value in told.items()), _written_context()))
    return "" if " at 0x" in text else text


def _written_context() -> list[str]:
    return [_written(each) for each in trace_context()]


def _written(value: Any) -> str:
    """Names of axes that are mapped outside do not print themselves; an empty mesh, which JAX sets
    while it lowers, is none."""
    if getattr(value, "empty", False) is True:
        return repr(None)
    if type(value).__name__ != "AxisEnv":
        return repr(value)
    parts = ("axis_sizes", "spmd_axis_names", "explicit_mesh_axis_names")
    return repr([sorted(map(repr, getattr(value, part))) for part in parts])
