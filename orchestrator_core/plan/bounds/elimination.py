"""A program over tasks that split over workers, and its normal equations. Compiled (stage 3).

A step of the interior-point method solves one linear system. The tasks' equations touch the rows
only through their own variables, so they are eliminated one by one, and what is left is one dense
system of the size of the rows.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.engine.compiled import inner


class Program(NamedTuple):
    """Minimise tau subject to ``sum_w x[t, w] = 1``, ``A x - g tau <= b`` and ``x, tau >= 0``.

    All numbers should be about 1.

    Attributes:
        first: (n + 1,) the variables of task t are ``first[t]`` up to ``first[t + 1]``.
        ptr, row, value: the columns of A, one for each variable, rows ascending.
        g, b: (k,).
    """

    first: Ints
    ptr: Ints
    row: Ints
    value: Floats
    g: Floats
    b: Floats


class System(NamedTuple):
    """The equations of one step.

    Attributes:
        scale: (variables,) each primal unknown divided by its dual one. slack: (k,) of the rows.
        whole: (n,) the sum of `scale` over a task's variables.
        matrix: (k, k) of the rows, in its lower half; then its factor.
        tasks, rows: (n,) and (k,) the right sides; `rows`, once solved, is the change of -lam.
    """

    scale: Floats
    slack: Floats
    whole: Floats
    matrix: Floats
    tasks: Floats
    rows: Floats


@inner
def new_system(p: Program) -> System:
    n, nv, k = len(p.first) - 1, len(p.ptr) - 1, len(p.b)
    rows = (np.empty((k, k)), np.empty(n), np.empty(k))
    return System(np.empty(nv), np.empty(k), np.empty(n), rows[0], rows[1], rows[2])


@inner
def assemble(p: Program, system: System, scale_of_tau: float) -> None:
    """Matrix and `whole` from the scales; then factored."""
    matrix, k = system.matrix, len(p.b)
    matrix[:] = 0.0
    for i in range(k):
        matrix[i, i] = system.slack[i]
        for j in range(i + 1):
            matrix[i, j] += scale_of_tau * p.g[i] * p.g[j]
    mixed, touched = np.zeros(k), np.empty(k, dtype=np.int64)
    seen = np.full(k, -1, dtype=np.int64)
    for t in range(len(p.first) - 1):
        many = _add_task(p, system, t, mixed, touched, seen)
        for a in range(many):
            i = touched[a]
            share = mixed[i] / system.whole[t]
            for o in range(many):
                if touched[o] <= i:
                    matrix[i, touched[o]] -= share * mixed[touched[o]]
    _factor(matrix)


@inner
def _add_task(p: Program, system: System, t: int, mixed: Floats, touched: Ints, seen: Ints) -> int:
    """Add task t's variables; how many rows they touch, which, and how much of t is in each."""
    system.whole[t] = 0.0
    many = 0
    for v in range(p.first[t], p.first[t + 1]):
        system.whole[t] += system.scale[v]
        for e in range(p.ptr[v], p.ptr[v + 1]):
            i, a = p.row[e], p.value[e] * system.scale[v]
            if seen[i] != t:
                seen[i], mixed[i], touched[many] = t, 0.0, i
                many += 1
            mixed[i] += a
            for f in range(p.ptr[v], e + 1):  # rows ascend within a column
                system.matrix[i, p.row[f]] += a * p.value[f]
    return many


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
        for a in range(j):
            d -= m[j, a] * m[j, a]
        m[j, j] = np.sqrt(d) if d > 1e-14 * largest else 1e64
        for i in range(j + 1, k):
            total = m[i, j]
            for a in range(j):
                total -= m[i, a] * m[j, a]
            m[i, j] = total / m[j, j]


@inner
def substitute(m: Floats, r: Floats) -> None:
    """Solve with the factor, in place."""
    k = len(m)
    for i in range(k):
        for a in range(i):
            r[i] -= m[i, a] * r[a]
        r[i] /= m[i, i]
    for i in range(k - 1, -1, -1):
        for a in range(i + 1, k):
            r[i] -= m[a, i] * r[a]
        r[i] /= m[i, i]
