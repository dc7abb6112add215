"""Does CP-SAT call optimal what is not? Small models of sub-graphs, drawn at random, each solved in
several ways: none may call optimal what another one beats, nor infeasible what another one solves.

For a new version of ortools, and for each new form of our models: what CP-SAT proves nobody else
checks. Once in several hundred models 9.15 is wrong with intervals that have an end of their own
(docs/decisions/0062-what-loses-optima.md).
"""

from __future__ import annotations

import argparse
import itertools
from collections import Counter
from typing import Any, NamedTuple

import numpy as np
from ortools.sat.python import cp_model

from orchestrator_core.plan.cpsat.solver import new_solver
from orchestrator_core.plan.cpsat.sub_dag import SubDag, directions, solver_of
from orchestrator_core.plan.engine.expand import expand
from tests.benchmarks.audit.case import Case, cases

SECONDS, WORK = 5.0, 1.0
"""Limits of one solver; what is not solved within them says nothing."""

VARIANTS = 10
"""Models of one graph."""

TOLERANCE = 30
"""Ticks: where they are rounded down, one for each task of a chain."""


class Answer(NamedTuple):
    """Attributes:
    status: as CP-SAT calls it. value: of the best solution, or infinity.
    """

    status: str
    value: float

    def is_beaten_by(self, value: float) -> bool:
        proven = self.value if self.status == "OPTIMAL" else np.inf
        return self.status in ("OPTIMAL", "INFEASIBLE") and proven > value + TOLERANCE


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("lost_optima")
    group.add_argument("--graphs", type=int, default=100, help="of ten models each; default: 100")
    group.add_argument("--from", dest="first", type=int, default=1, help="the first seed")


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """How often each way was wrong, how often it gave up, and the seeds."""
    count: Counter[str] = Counter()
    wrong: list[dict[str, Any]] = []
    graphs = cases(options.first, options.graphs, "threads")
    for case, variant in itertools.product(graphs, range(VARIANTS)):
        sub = drawn(case, variant)
        answers = {name: _solved(sub, solver) for name, solver in solvers().items()}
        best = min(answer.value for answer in answers.values())
        for name, answer in answers.items():
            count[f"{name}: not solved"] += answer.status in ("FEASIBLE", "UNKNOWN")
            if answer.is_beaten_by(best):
                where = {"seed": case.seed, "variant": variant, "way": name}
                wrong.append({**where, **answer._asdict(), "best": best})
    return {"models": VARIANTS * options.graphs, "wrong": wrong, **count}


def drawn(case: Case, variant: int) -> SubDag:
    """The graph and the workers of a case, with other durations: 0 to 3 s."""
    problem = expand(case.instance)
    rng = np.random.default_rng((case.seed, variant))
    seconds = rng.integers(0, 4, (problem.n_tasks, problem.n_workers)).astype(float)
    seconds[rng.random(seconds.shape) < 0.1] = np.inf
    seconds[~np.isfinite(seconds).any(axis=1), 0] = 2.0
    longest = float(np.where(np.isfinite(seconds), seconds, 0.0).max(axis=1).sum())
    nothing, every = np.zeros_like(seconds), list(range(problem.n_tasks))
    way = directions(problem)[0]
    return SubDag(problem, way, every, nothing, seconds, nothing, 0.6 * longest + 2.0, None)


def solvers() -> dict[str, cp_model.CpSolver]:
    """As we use it for sub-graphs and for the whole, and searches that differ most from these."""
    made = {"sub-graphs": solver_of(SECONDS, WORK), "whole": new_solver()}
    for name, level, lower in (("no lp", 0, False), ("bound", 0, True), ("lp, bound", 2, True)):
        made[name] = new_solver()
        made[name].parameters.linearization_level = level
        made[name].parameters.use_objective_lb_search = lower
    for solver in made.values():
        solver.parameters.num_workers = 1
        solver.parameters.max_time_in_seconds = SECONDS
        solver.parameters.max_deterministic_time = WORK
    return made


def _solved(sub: SubDag, solver: cp_model.CpSolver) -> Answer:
    status = solver.status_name(solver.solve(sub.cp))
    return Answer(status, solver.objective_value if status in ("OPTIMAL", "FEASIBLE") else np.inf)
