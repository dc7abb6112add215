"""The iterates of the interior-point method, and steps between them. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.compiled import inner


class Point(NamedTuple):
    """Primal unknowns and their dual ones, or a change of all of them.

    Attributes:
        x, z: (variables,) the split, and what each variable costs beyond its task's price.
        s, lam: (k,) slack of the rows, and their multipliers.
        tau, rest: (1,) the makespan, and what the multipliers leave of 1.
        nu: (n,) the prices of the tasks.
    """

    x: Floats
    z: Floats
    s: Floats
    lam: Floats
    tau: Floats
    rest: Floats
    nu: Floats


@inner
def nowhere(n: int, nv: int, k: int) -> Point:
    """All zero, for n tasks with nv variables in all, and k rows."""
    rows = (np.zeros(k), np.zeros(k), np.zeros(1), np.zeros(1), np.zeros(n))
    return Point(np.zeros(nv), np.zeros(nv), rows[0], rows[1], rows[2], rows[3], rows[4])


@inner
def clear(step: Point) -> None:
    """Products of such a step are zero."""
    step.x[:], step.z[:], step.s[:], step.lam[:] = 0.0, 0.0, 0.0, 0.0
    step.tau[:], step.rest[:] = 0.0, 0.0


@inner
def reaches(at: Point, step: Point) -> tuple[float, float]:
    """The longest primal and dual steps, at most 1, that leave nothing below zero."""
    primal = min(_reach(at.x, step.x), _reach(at.s, step.s), _reach(at.tau, step.tau))
    dual = min(_reach(at.z, step.z), _reach(at.lam, step.lam), _reach(at.rest, step.rest))
    return primal, dual


@inner
def _reach(v: Floats, dv: Floats) -> float:
    step = 1.0
    for i in range(len(v)):
        if dv[i] < 0:
            step = min(step, -v[i] / dv[i])
    return step


@inner
def products(at: Point, step: Point, primal: float, dual: float) -> float:
    """The sum of all primal unknowns times their dual ones, so far along the step."""
    return (
        _product(at.x, at.z, step.x, step.z, primal, dual)
        + _product(at.s, at.lam, step.s, step.lam, primal, dual)
        + _product(at.tau, at.rest, step.tau, step.rest, primal, dual)
    )


@inner
def _product(v: Floats, d: Floats, dv: Floats, dd: Floats, primal: float, dual: float) -> float:
    total = 0.0
    for i in range(len(v)):
        total += (v[i] + primal * dv[i]) * (d[i] + dual * dd[i])
    return total


@inner
def go(at: Point, step: Point, primal: float, dual: float) -> None:
    """Move `at` so far along the step."""
    _add(at.x, primal, step.x)
    _add(at.s, primal, step.s)
    _add(at.tau, primal, step.tau)
    _add(at.z, dual, step.z)
    _add(at.lam, dual, step.lam)
    _add(at.rest, dual, step.rest)
    _add(at.nu, dual, step.nu)


@inner
def _add(v: Floats, length: float, dv: Floats) -> None:
    for i in range(len(v)):
        v[i] += length * dv[i]
