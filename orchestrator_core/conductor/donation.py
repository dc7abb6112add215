"""Functions that were given as ``jax.jit(f, donate_argnums=...)``: opened, with their donation."""

from __future__ import annotations

from typing import Any

from orchestrator_core.conductor import _jax
from orchestrator_core.conductor.ir.read import has_meaning


def opened(jaxpr: Any) -> tuple[Any, tuple[bool, ...]]:
    """What stands in the call, and which inputs are donated, if the function is nothing but a call
    that donates some; else itself, and none."""
    body, constants = _jax.inner(jaxpr)
    donated = (False,) * len(body.invars)
    if len(body.eqns) != 1 or constants:
        return jaxpr, donated
    (equation,) = body.eqns
    params = equation.params
    if equation.primitive.name not in ("jit", "pjit") or not any(params["donated_invars"]):
        return jaxpr, donated
    alone = has_meaning({**params, "donated_invars": ()})
    if alone or not (_are(equation.invars, body.invars) and _are(equation.outvars, body.outvars)):
        return jaxpr, donated
    return params["jaxpr"], tuple(params["donated_invars"])


def _are(these: Any, those: Any) -> bool:
    return len(these) == len(those) and all(a is b for a, b in zip(these, those, strict=True))
