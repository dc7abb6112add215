"""The model behind learned durations, and its solution.

    log(seconds - overhead) = kind + task + worker kind + (kind, worker kind) + noise

`kind` is free; the others are drawn towards 0 (worker kinds: towards the declared speed), each by
its own variance. For given variances the best answer is a linear system (Henderson, "Best linear
unbiased estimation and prediction under a selection model", 1975). Tasks, then kinds are eliminated
from it exactly, so that what remains is as large as the number of worker kinds; outliers lose
weight and it is solved again (Huber's iteratively reweighted least squares), and the variances
follow from the residuals.

Short tasks say little about speed: `JITTER` seconds of unexplained time are large in their
logarithm. So weight grows with the square of the work until the relative noise outweighs that, and
once more with the square of the part of the duration that is work, not overhead, unless that was
measured.

Why no plain backfitting by medians: with each task seen once, task and worker effects exchange so
little in a round that it stops long before the answer.
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.learn.columns import Columns
from orchestrator_core.learn.effects import Effects
from orchestrator_core.learn.robust import group_medians, group_sums, huber_weights
from orchestrator_core.learn.variances import BETWEEN, NOISE, between_of, noise_of

ROUNDS = 8
"""Rounds of reweighting; changes are below 1 % after five or six."""

WORKER = 1.0
"""Standard deviation of a worker kind's log slowness around its declared speed."""

INTERACTION, INTERACTION_PAIRS = 0.05, 8.0
"""Standard deviation of what is special to a kind on a worker kind; pairs that this is worth."""

JITTER = 0.010
"""Standard deviation in seconds by which any duration differs from the model, however short."""

BRIEF = 3 * JITTER
"""A task that never took longer than this many seconds is no longer than what was seen and some
`JITTER`, however long others of its kind are: in logarithms, jitter alone would allow anything."""

DULL = 0.1
"""Part of a duration that is taken for work at least, where that decides what it says of speed."""

SHORTEST = 1e-4
"""Seconds that work takes at least, once the overhead is taken off."""

_NEVER_ZERO = 1e-12


def solve(
    columns: Columns,
    overhead: Floats,
    prior: Floats,
    *,
    interaction: float = INTERACTION,
    noise: Floats | None = None,
) -> Effects:
    """The effects under an overhead (k,) in seconds of each kind, for what was not measured, and a
    prior (v,) of log slowness.

    `interaction` 0 leaves pairs out of the model; `noise` (k,), where given, is not estimated.
    """
    solver = _Solver(columns, overhead, prior, interaction, noise)
    for _ in range(ROUNDS):
        solver.sum_up()
        solver.solve_workers_and_kinds()
        if interaction > 0:
            solver.solve_pairs()
        solver.solve_tasks()
        solver.judge_residuals(estimate_noise=noise is None)
    solver.bound_brief_tasks()
    return solver.effects()


class _Solver:
    """The state of the iteration: effects, variances, and doubts about single observations.

    `repeat_doubt` (n,) is about a repetition that is unlike the others of its task; `task_doubt`
    (t,) about a task that is unlike its kind. The second keeps the task from shifting its
    worker's speed; the task itself is believed, the more so as its kind is no guide to it.
    """

    def __init__(
        self,
        columns: Columns,
        overhead: Floats,
        prior: Floats,
        interaction: float,
        noise: Floats | None,
    ) -> None:
        self.columns, self.prior = columns, prior
        self.k, self.v, self.t = len(columns.kinds), len(columns.worker_kinds), len(columns.tasks)
        work = np.maximum(columns.work(overhead), SHORTEST)
        self.y: Floats = np.log(work)
        self.jitter: Floats = (JITTER / work) ** 2
        certain = 1.0 - overhead.max(initial=0.0) / columns.seconds
        measured = ~np.isnan(columns.overhead)
        self.gate = np.where(measured, 1.0, np.clip(certain, DULL, 1.0) ** 2)
        self.noise = np.full(self.k, NOISE) if noise is None else noise
        self.between = np.full(self.k, BETWEEN)
        self.interaction = interaction
        self.repeat_doubt, self.task_doubt = np.ones(len(columns)), np.ones(self.t)
        self.kind, self.worker, self.task = np.zeros(self.k), np.zeros(self.v), np.zeros(self.t)
        self.worker_covariance = np.zeros((self.v, self.v))
        self.slowness_variance = np.zeros((self.k, self.v))
        self.task_variance = np.zeros(self.t)
        self.pair, self.pair_variance = np.zeros((self.k, self.v)), np.zeros((self.k, self.v))
        self.repeats = np.bincount(columns.task, minlength=self.t)

    def sum_up(self) -> None:
        """Normal equations of (kind, worker kind), the tasks eliminated, by kind.

        `a` (k,) is kind with kind, `b` (k, v) kind with worker, `c` (k, v, v) worker with worker.
        """
        columns, t, v = self.columns, self.t, self.v
        by_kind = columns.kind_of_task
        self.precision = columns.trust / self._own_variance()
        self.weight = self.precision * self.gate * self.repeat_doubt * self.task_doubt[columns.task]
        self.s = group_sums(self.weight, columns.task * v + columns.worker, t * v).reshape(t, v)
        self.s_task = self.s.sum(axis=1)
        self.tie = 1.0 / self.between[by_kind] ** 2
        self.left = self.tie / (self.s_task + self.tie)
        self.a = np.maximum(group_sums(self.s_task * self.left, by_kind, self.k), _NEVER_ZERO)
        self.b = _sum_rows(self.s * self.left[:, None], by_kind, self.k)
        self.c = np.zeros((self.k, v, v))
        share = self.s / (self.s_task + self.tie)[:, None]
        bounds = np.searchsorted(by_kind, np.arange(self.k + 1)).tolist()
        for kind, (first, last) in enumerate(pairwise(bounds)):
            own = self.s[first:last]
            self.c[kind] = np.diag(own.sum(axis=0)) - own.T @ share[first:last]

    def _right_sides(self, y: Floats) -> tuple[Floats, Floats]:
        """What the observations `y` put against `a` (k,) and against `c` (k, v)."""
        columns, t, v = self.columns, self.t, self.v
        cell = columns.task * v + columns.worker
        r = group_sums(self.weight * y, cell, t * v).reshape(t, v)
        r_task = r.sum(axis=1)
        against = r - self.s * (r_task / (self.s_task + self.tie))[:, None]
        by_kind = columns.kind_of_task
        return group_sums(r_task * self.left, by_kind, self.k), _sum_rows(against, by_kind, self.k)

    def solve_workers_and_kinds(self) -> None:
        e, d = self._right_sides(self.y - self.pair[self.columns.kind, self.columns.worker])
        by_kinds = self.b[:, :, None] * self.b[:, None, :] / self.a[:, None, None]
        matrix = (self.c - by_kinds).sum(axis=0) + np.eye(self.v) / WORKER**2
        right = (d - self.b * (e / self.a)[:, None]).sum(axis=0) + self.prior / WORKER**2
        inverse = np.linalg.inv(matrix)
        self.worker = inverse @ right
        self.kind = (e - self.b @ self.worker) / self.a
        self.worker_covariance = inverse
        # A shift of all workers that a kind ran on is none: its own level takes that up.
        share = self.b / self.a[:, None]
        shared = share @ inverse
        usual = (shared * share).sum(axis=1, keepdims=True)
        self.slowness_variance = np.maximum(np.diagonal(inverse) - 2.0 * shared + usual, 0.0)

    def solve_pairs(self) -> None:
        """What is special to a kind on a worker kind, and how much of that there is at all."""
        columns = self.columns
        _, d = self._right_sides(self.y - self.kind[columns.kind] - self.worker[columns.worker])
        inverse = np.linalg.inv(self.c + np.eye(self.v) / self.interaction**2)
        self.pair = np.einsum("kij,kj->ki", inverse, d)
        self.pair_variance = np.einsum("kii->ki", inverse)
        informed = np.einsum("kii->ki", self.c) * self.interaction**2 > 0.1
        found = (self.pair**2 + self.pair_variance)[informed]
        believed = INTERACTION_PAIRS * INTERACTION**2
        self.interaction = float(
            np.sqrt((believed + found.sum()) / (INTERACTION_PAIRS + len(found)))
        )

    def solve_tasks(self) -> None:
        columns = self.columns
        kind, worker = columns.kind, columns.worker
        self.rest = self.y - self.kind[kind] - self.worker[worker] - self.pair[kind, worker]
        weight = self.precision * self.repeat_doubt
        informed = group_sums(weight, columns.task, self.t) + self.tie * self.task_doubt
        self.task = group_sums(weight * self.rest, columns.task, self.t) / informed
        self.task_variance = 1.0 / informed

    def judge_residuals(self, *, estimate_noise: bool) -> None:
        """New variances from the residuals, and new doubts."""
        columns = self.columns
        middle = self._middles()
        within = self.rest - middle[columns.task]
        if estimate_noise:
            self.noise = noise_of(columns, within, self.repeats[columns.task], self.jitter)
        own = self._own_variance()
        best = np.full(self.t, np.inf)
        np.minimum.at(best, columns.task, own)
        self.between = between_of(columns, middle, best)
        self.repeat_doubt = huber_weights(within / np.sqrt(own))
        apart = np.sqrt(self.between[columns.kind_of_task] ** 2 + best)
        self.task_doubt = huber_weights(np.nan_to_num(middle) / apart)

    def _own_variance(self) -> Floats:
        """(n,) of what each observation differs from its task by, on the same worker."""
        return self.noise[self.columns.kind] ** 2 + self.jitter

    def _middles(self) -> Floats:
        """(t,) the middle of what each task was observed to differ from its kind by.

        Of two repetitions that disagree, the one that is nearer to the kind."""
        task = self.columns.task
        middle = group_medians(self.rest, task, self.t)
        nearest = np.full(self.t, np.inf)
        np.minimum.at(nearest, task, np.abs(self.rest))
        chosen: Floats = np.where(self.repeats == 2, np.copysign(nearest, middle), middle)
        return chosen

    def bound_brief_tasks(self) -> None:
        """What is believed of brief tasks, and how surely, follows from what they took."""
        columns = self.columns
        work = np.exp(self.y)
        brief = np.ones(self.t, dtype=bool)
        np.logical_and.at(brief, columns.task, work < BRIEF)
        most, widest = np.full(self.t, -np.inf), np.zeros(self.t)
        np.maximum.at(most, columns.task, self.rest + np.log1p(2 * JITTER / work))
        np.maximum.at(widest, columns.task, (JITTER / (work + JITTER)) ** 2)
        noise = self.noise[columns.kind_of_task]
        most, widest = most + 2 * noise, widest + (3 * noise) ** 2
        self.task = np.where(brief, np.minimum(self.task, most), self.task)
        self.task_variance = np.where(
            brief, np.minimum(self.task_variance, widest), self.task_variance
        )

    def effects(self) -> Effects:
        return Effects(
            kind=self.kind,
            worker=self.worker,
            worker_covariance=self.worker_covariance,
            slowness_variance=self.slowness_variance,
            pair=self.pair,
            pair_variance=self.pair_variance,
            task=self.task,
            task_variance=self.task_variance,
            between=self.between,
            noise=self.noise,
            interaction=self.interaction,
            surprise=self._surprise(),
        )

    def _surprise(self) -> float:
        """Minus the log likelihood of all durations; those of one task are not independent."""
        task = self.columns.task
        doubted = self.precision * self.repeat_doubt * self.task_doubt[task]
        against = group_sums(doubted * self.rest, task, self.t)
        within = group_sums(doubted * self.rest**2, task, self.t)
        heavy = group_sums(self.precision, task, self.t)
        misfit = within - against**2 / (heavy + self.tie)
        widths = np.log1p(heavy / self.tie) - group_sums(np.log(self.precision), task, self.t)
        return float((misfit + widths).sum() / 2 + self.y.sum())


def _sum_rows(rows: Floats, group: Ints, n: int) -> Floats:
    return np.stack([group_sums(column, group, n) for column in rows.T], axis=1)
