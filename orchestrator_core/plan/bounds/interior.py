"""An interior-point method for the linear programs of the bounds. Compiled (stage 3).

With few rows and many tasks they are best solved by S. Mehrotra's predictor-corrector method
("On the implementation of a primal-dual interior point method", 1992). Every iterate is dual
feasible, so each proves a bound, and the loop may stop anywhere.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.bounds.elimination import (
    Program,
    System,
    assemble,
    new_system,
    substitute,
)
from orchestrator_core.plan.bounds.iterate import Point, clear, go, nowhere, products, reaches
from orchestrator_core.plan.engine.compiled import inner

MOST_STEPS = 40

NEARLY_ALL = 0.995
"""Part of the way to the boundary that is gone."""

COMPLEMENTARY = 1e-13
"""A mean product of primal and dual unknowns that is as good as zero."""


@inner
def solve(p: Program, tolerance: float, stop: float, x: Floats, y: Floats) -> float:
    """The best dual bound on tau that was met; `x` and `y` are filled.

    Args:
        tolerance: on tau. stop: leave as soon as the bound is as large as that.
        x: (variables,) filled with a split that is optimal when it ends.
        y: (k,) filled with multipliers >= 0, g y <= 1, of the bound that is returned.
    """
    price, load = np.empty(len(x)), np.empty(len(y))
    at, step, system = (
        _start(p, price, load),
        nowhere(len(p.first) - 1, len(p.ptr) - 1, len(p.b)),
        new_system(p),
    )
    best = -np.inf
    for _ in range(MOST_STEPS):
        bound = _bound(p, at.lam, price)
        if bound > best:
            best = bound
            y[:] = at.lam
        mu = products(at, step, 0.0, 0.0) / (len(x) + len(y) + 1)
        if best >= stop or at.tau[0] - best < tolerance or mu < COMPLEMENTARY:
            break
        primal, dual = _predict_and_correct(p, at, step, system, load, mu)
        go(at, step, min(1.0, NEARLY_ALL * primal), min(1.0, NEARLY_ALL * dual))
        _set_prices(p, at.lam, price)
        _set_loads(p, at.x, load)
    x[:] = at.x
    return best


@inner
def _start(p: Program, price: Floats, load: Floats) -> Point:
    """Each task split evenly; strictly within all bounds."""
    n, k = len(p.first) - 1, len(p.b)
    at = nowhere(len(p.first) - 1, len(p.ptr) - 1, len(p.b))
    for t in range(n):
        at.x[p.first[t] : p.first[t + 1]] = 1.0 / (p.first[t + 1] - p.first[t])
    _set_loads(p, at.x, load)
    at.tau[0] = 0.1
    for i in range(k):
        if p.g[i] > 0:
            at.tau[0] = max(at.tau[0], (load[i] - p.b[i]) / p.g[i] + 0.1)
    for i in range(k):
        at.s[i] = max(0.1, p.b[i] + p.g[i] * at.tau[0] - load[i])
        at.lam[i] = 0.5 / max(1.0, p.g.sum())
    _set_prices(p, at.lam, price)
    for t in range(n):
        at.nu[t] = price[p.first[t] : p.first[t + 1]].min() - 0.5 / max(1, n)
        for v in range(p.first[t], p.first[t + 1]):
            at.z[v] = price[v] - at.nu[t]
    at.rest[0] = 1.0 - (p.g * at.lam).sum()
    return at


@inner
def _set_prices(p: Program, y: Floats, price: Floats) -> None:
    for v in range(len(price)):
        price[v] = 0.0
        for e in range(p.ptr[v], p.ptr[v + 1]):
            price[v] += y[p.row[e]] * p.value[e]


@inner
def _set_loads(p: Program, x: Floats, load: Floats) -> None:
    load[:] = 0.0
    for v in range(len(x)):
        for e in range(p.ptr[v], p.ptr[v + 1]):
            load[p.row[e]] += p.value[e] * x[v]


@inner
def _bound(p: Program, lam: Floats, price: Floats) -> float:
    """What the multipliers prove: each task where it is cheapest."""
    bound = -(lam * p.b).sum()
    for t in range(len(p.first) - 1):
        bound += price[p.first[t] : p.first[t + 1]].min()
    return float(bound)


@inner
def _predict_and_correct(
    p: Program, at: Point, step: Point, system: System, load: Floats, mu: float
) -> tuple[float, float]:
    """Fill `step`; how far it may go, primal and dual, before something is negative.

    The first try aims at complementarity at once. What it would reach tells how much to aim for,
    and its products are the second-order terms that the second try corrects.
    """
    system.scale[:] = at.x / at.z
    system.slack[:] = at.s / at.lam
    assemble(p, system, at.tau[0] / at.rest[0])
    clear(step)
    _direct(p, at, step, system, load, 0.0)
    primal, dual = reaches(at, step)
    sigma = (products(at, step, primal, dual) / ((len(at.x) + len(at.s) + 1) * mu)) ** 3
    _direct(p, at, step, system, load, sigma * mu)
    return reaches(at, step)


@inner
def _short(aim: float, value: Floats, dual: Floats, dv: Floats, dd: Floats, i: int) -> float:
    """By how much an unknown misses the product `aim`, the products of the last try taken off."""
    return float((aim - dv[i] * dd[i]) / dual[i] - value[i])


@inner
def _direct(p: Program, at: Point, step: Point, system: System, load: Floats, aim: float) -> None:
    """Newton's step towards products of `aim`, from the last try into `step`."""
    of_tau = _short(aim, at.tau, at.rest, step.tau, step.rest, 0)
    _set_right_sides(p, at, step, system, load, aim, of_tau)
    substitute(system.matrix, system.rows)
    _direct_tasks(p, at, step, system, aim)
    along = 0.0
    for i in range(len(p.b)):
        missing = _short(aim, at.s, at.lam, step.s, step.lam, i)
        step.s[i] = missing + system.slack[i] * system.rows[i]
        step.lam[i] = -system.rows[i]
        along += p.g[i] * system.rows[i]
    step.tau[0] = of_tau - at.tau[0] / at.rest[0] * along
    step.rest[0] = along


@inner
def _set_right_sides(
    p: Program, at: Point, step: Point, system: System, load: Floats, aim: float, of_tau: float
) -> None:
    """Primal residuals, and the complementarity that is aimed at; the tasks' part eliminated."""
    rows = system.rows
    for i in range(len(p.b)):
        missing = _short(aim, at.s, at.lam, step.s, step.lam, i)
        rows[i] = p.b[i] + p.g[i] * (at.tau[0] + of_tau) - at.s[i] - load[i] - missing
    for t in range(len(p.first) - 1):
        system.tasks[t] = 1.0
        for v in range(p.first[t], p.first[t + 1]):
            missing = _short(aim, at.x, at.z, step.x, step.z, v)
            system.tasks[t] -= at.x[v] + missing
            for e in range(p.ptr[v], p.ptr[v + 1]):
                rows[p.row[e]] -= p.value[e] * missing
        share = system.tasks[t] / system.whole[t]
        for v in range(p.first[t], p.first[t + 1]):
            for e in range(p.ptr[v], p.ptr[v + 1]):
                rows[p.row[e]] -= p.value[e] * system.scale[v] * share


@inner
def _direct_tasks(p: Program, at: Point, step: Point, system: System, aim: float) -> None:
    """The tasks' part of the step, from that of the rows."""
    for t in range(len(p.first) - 1):
        change = system.tasks[t]
        for v in range(p.first[t], p.first[t + 1]):
            for e in range(p.ptr[v], p.ptr[v + 1]):
                change -= p.value[e] * system.scale[v] * system.rows[p.row[e]]
        step.nu[t] = change / system.whole[t]
        for v in range(p.first[t], p.first[t + 1]):
            along = step.nu[t]
            for e in range(p.ptr[v], p.ptr[v + 1]):
                along += p.value[e] * system.rows[p.row[e]]
            missing = _short(aim, at.x, at.z, step.x, step.z, v)
            step.x[v] = missing + system.scale[v] * along
            step.z[v] = -along
