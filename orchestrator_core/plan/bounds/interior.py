"""An interior-point method for the linear programs of the bounds. Compiled (stage 3).

The program splits each task over its workers, and rows tie the tasks together::

    minimise tau  subject to  sum_w x[t, w] = 1,   A x - g tau <= b,   x, tau >= 0

With few rows and many tasks it is best solved by S. Mehrotra's predictor-corrector method (1992):
the tasks' equations are eliminated one by one, and what is left is one dense system of the size of
the rows. Every iterate is dual feasible, so each proves a bound, and the loop may stop anywhere.
"""

from __future__ import annotations

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner

MOST_STEPS = 40


@inner
def _factor(m: Floats) -> None:
    """Cholesky's factor of m in its lower half, in place; what is too small is made infinite, so
    that its unknown stays zero."""
    k = len(m)
    largest = 0.0
    for i in range(k):
        largest = max(largest, m[i, i])
    for j in range(k):
        d = m[j, j]
        for p in range(j):
            d -= m[j, p] * m[j, p]
        m[j, j] = np.sqrt(d) if d > 1e-14 * largest else 1e64
        for i in range(j + 1, k):
            total = m[i, j]
            for p in range(j):
                total -= m[i, p] * m[j, p]
            m[i, j] = total / m[j, j]


@inner
def _back(m: Floats, r: Floats) -> None:
    """Solve with the factor, in place."""
    k = len(m)
    for i in range(k):
        for p in range(i):
            r[i] -= m[i, p] * r[p]
        r[i] /= m[i, i]
    for i in range(k - 1, -1, -1):
        for p in range(i + 1, k):
            r[i] -= m[p, i] * r[p]
        r[i] /= m[i, i]


@inner
def _reach(v: Floats, dv: Floats) -> float:
    """The longest step, at most 1, that keeps v >= 0."""
    step = 1.0
    for i in range(len(v)):
        if dv[i] < 0:
            step = min(step, -v[i] / dv[i])
    return step


@inner
def _prices(ptr: Ints, row: Ints, value: Floats, y: Floats, price: Floats) -> None:
    for v in range(len(price)):
        price[v] = 0.0
        for e in range(ptr[v], ptr[v + 1]):
            price[v] += y[row[e]] * value[e]


@inner
def _assemble(
    first: Ints,
    ptr: Ints,
    row: Ints,
    value: Floats,
    g: Floats,
    d: Floats,
    ds: Floats,
    dtau: float,
    m: Floats,
    whole: Floats,
) -> None:
    """The rows' system, the tasks' equations eliminated, in the lower half of m."""
    k = len(g)
    m[:] = 0.0
    for i in range(k):
        m[i, i] = ds[i]
        for j in range(i + 1):
            m[i, j] += dtau * g[i] * g[j]
    mixed, touched = np.zeros(k), np.empty(k, dtype=np.int64)
    seen = np.full(k, -1, dtype=np.int64)
    for t in range(len(whole)):
        whole[t] = 0.0
        many = 0
        for v in range(first[t], first[t + 1]):
            whole[t] += d[v]
            for e in range(ptr[v], ptr[v + 1]):
                i, a = row[e], value[e] * d[v]
                if seen[i] != t:
                    seen[i], mixed[i], touched[many] = t, 0.0, i
                    many += 1
                mixed[i] += a
                for f in range(ptr[v], e + 1):  # rows ascend within a column
                    m[i, row[f]] += a * value[f]
        for p in range(many):
            i = touched[p]
            share = mixed[i] / whole[t]
            for o in range(many):
                if touched[o] <= i:
                    m[i, touched[o]] -= share * mixed[touched[o]]


@inner
def solve(
    first: Ints,
    ptr: Ints,
    row: Ints,
    value: Floats,
    g: Floats,
    b: Floats,
    tolerance: float,
    stop: float,
    x: Floats,
    y: Floats,
) -> float:
    """The best dual bound on tau that was met; `x` and `y` are filled.

    Args:
        first: (n + 1,) the variables of task t are ``first[t]`` up to ``first[t + 1]``.
        ptr, row, value: the columns of A, one for each variable, rows ascending.
        g, b: (k,). All numbers should be about 1.
        tolerance: on tau. stop: leave as soon as the bound is as large as that.
        x: (variables,) filled with a split that is optimal when it ends.
        y: (k,) filled with multipliers >= 0, g y <= 1, of the bound that is returned.
    """
    n, nv, k = len(first) - 1, len(x), len(b)
    for t in range(n):
        for v in range(first[t], first[t + 1]):
            x[v] = 1.0 / (first[t + 1] - first[t])
    load = np.zeros(k)
    for v in range(nv):
        for e in range(ptr[v], ptr[v + 1]):
            load[row[e]] += value[e] * x[v]
    tau = 0.1
    for i in range(k):
        if g[i] > 0:
            tau = max(tau, (load[i] - b[i]) / g[i] + 0.1)
    s = np.empty(k)
    lam = np.empty(k)
    for i in range(k):
        s[i] = max(0.1, b[i] + g[i] * tau - load[i])
        lam[i] = 0.5 / max(1.0, g.sum())
    price, nu = np.empty(nv), np.empty(n)
    z = np.empty(nv)
    _prices(ptr, row, value, lam, price)
    for t in range(n):
        nu[t] = price[first[t] : first[t + 1]].min() - 0.5 / max(1, n)
        for v in range(first[t], first[t + 1]):
            z[v] = price[v] - nu[t]
    zt = 1.0 - (g * lam).sum()
    best = -np.inf
    m, whole = np.empty((k, k)), np.empty(n)
    d, ds = np.empty(nv), np.empty(k)
    dx, dz = np.zeros(nv), np.zeros(nv)
    dsl, dlam = np.zeros(k), np.zeros(k)
    dtau, dzt = 0.0, 0.0
    rk, rt, dnu = np.empty(k), np.empty(n), np.empty(n)
    for _ in range(MOST_STEPS):
        bound = -(lam * b).sum()
        for t in range(n):
            bound += (price[first[t] : first[t + 1]]).min()
        if bound > best:
            best = bound
            y[:] = lam
        mu = ((x * z).sum() + (s * lam).sum() + tau * zt) / (nv + k + 1)
        if best >= stop or tau - best < tolerance or mu < 1e-13:
            break
        for v in range(nv):
            d[v] = x[v] / z[v]
        for i in range(k):
            ds[i] = s[i] / lam[i]
        _assemble(first, ptr, row, value, g, d, ds, tau / zt, m, whole)
        _factor(m)
        sigma = 0.0
        for correct in range(2):
            # Right sides: primal residuals, and the complementarity that is aimed at.
            for i in range(k):
                target = (sigma * mu - (dsl[i] * dlam[i] if correct else 0.0)) / lam[i] - s[i]
                rk[i] = b[i] + g[i] * tau - s[i] - load[i] - target
            aim = (sigma * mu - (dtau * dzt if correct else 0.0)) / zt - tau
            for i in range(k):
                rk[i] += g[i] * aim
            for t in range(n):
                rt[t] = 1.0
                for v in range(first[t], first[t + 1]):
                    rt[t] -= x[v]
            for t in range(n):
                for v in range(first[t], first[t + 1]):
                    c = (sigma * mu - (dx[v] * dz[v] if correct else 0.0)) / z[v] - x[v]
                    rt[t] -= c
                    for e in range(ptr[v], ptr[v + 1]):
                        rk[row[e]] -= value[e] * c
            for t in range(n):
                share = rt[t] / whole[t]
                for v in range(first[t], first[t + 1]):
                    for e in range(ptr[v], ptr[v + 1]):
                        rk[row[e]] -= value[e] * d[v] * share
            _back(m, rk)  # now the change of -lam
            for t in range(n):
                dnu[t] = rt[t]
                for v in range(first[t], first[t + 1]):
                    for e in range(ptr[v], ptr[v + 1]):
                        dnu[t] -= value[e] * d[v] * rk[row[e]]
                dnu[t] /= whole[t]
            for t in range(n):
                for v in range(first[t], first[t + 1]):
                    c = (sigma * mu - (dx[v] * dz[v] if correct else 0.0)) / z[v] - x[v]
                    along = dnu[t]
                    for e in range(ptr[v], ptr[v + 1]):
                        along += value[e] * rk[row[e]]
                    dx[v] = c + d[v] * along
                    dz[v] = -along
            dzt_new = 0.0
            for i in range(k):
                c = (sigma * mu - (dsl[i] * dlam[i] if correct else 0.0)) / lam[i] - s[i]
                dsl[i] = c + ds[i] * rk[i]
                dlam[i] = -rk[i]
                dzt_new += g[i] * rk[i]
            dtau = aim - tau / zt * dzt_new
            dzt = dzt_new
            primal = min(_reach(x, dx), _reach(s, dsl))
            dual = min(_reach(z, dz), _reach(lam, dlam))
            if dtau < 0:
                primal = min(primal, -tau / dtau)
            if dzt < 0:
                dual = min(dual, -zt / dzt)
            if correct == 0:
                ahead = ((x + primal * dx) * (z + dual * dz)).sum()
                ahead += ((s + primal * dsl) * (lam + dual * dlam)).sum()
                ahead += (tau + primal * dtau) * (zt + dual * dzt)
                sigma = (ahead / ((nv + k + 1) * mu)) ** 3
        primal, dual = min(1.0, 0.995 * primal), min(1.0, 0.995 * dual)
        for v in range(nv):
            x[v] += primal * dx[v]
            z[v] += dual * dz[v]
        for i in range(k):
            s[i] += primal * dsl[i]
            lam[i] += dual * dlam[i]
        tau += primal * dtau
        zt += dual * dzt
        for t in range(n):
            nu[t] += dual * dnu[t]
        _prices(ptr, row, value, lam, price)
        load[:] = 0.0
        for v in range(nv):
            for e in range(ptr[v], ptr[v + 1]):
                load[row[e]] += value[e] * x[v]
    return best
