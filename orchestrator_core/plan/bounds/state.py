"""State: what is known of all schedules shorter than some makespan (stage 3).

Heads and tails are indexed by worker, since what a task must wait for depends on where it runs.
They and the possible workers sharpen each other until nothing changes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.filtering import restrict
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.sweep import Flags, raise_heads
from orchestrator_core.plan.engine.expand import Problem

ROUNDING = 1e-9
"""Relative: what is said of "shorter than `upper`" is derived for this much shorter, so that no
sum of floats counts as larger than it is."""

DIGITS = 1e-12
"""Relative: what a sum of floats may be too large by."""

DEADLINE_SLACK = 1e-6
"""Of `upper`: by so much a checked schedule may certainly not miss a deadline."""

MOST_ROUNDS = 50


@dataclass(slots=True)
class State:
    """What holds for every schedule with a makespan below `upper` seconds.

    Attributes:
        upper: seconds; infinity if nothing is assumed.
        head, tail: (n, w) at least so many seconds before a task's start, and between its end and
            the schedule's end, if it runs on that worker; without meaning where it may not.
        may: (n, w) workers on which each single task may still run; at least one each.
        together: (n,) tasks with the same number run on the same worker.
        active: (n,) the others are left out.
    """

    upper: float
    head: Floats
    tail: Floats
    may: Flags
    together: Ints
    active: Flags

    def copy(self) -> State:
        """The same, to change."""
        bounds = (self.head.copy(), self.tail.copy())
        return State(self.upper, *bounds, self.may.copy(), self.together.copy(), self.active.copy())

    def through(self, relaxation: Relaxation) -> Floats:
        """(n, w) seconds that no schedule is shorter than in which a task runs on a worker."""
        whole = self.head + np.where(self.may, relaxation.seconds, 0.0) + self.tail
        return np.where(self.may, whole, np.inf)

    def lower_bound(self, relaxation: Relaxation) -> float:
        """Seconds that no schedule is shorter than, or `upper`."""
        shortest = self.through(relaxation).min(axis=1)
        longest = float(shortest.max(initial=0.0, where=self.active))
        return min(self.upper, longest * (1 - DIGITS))


def propagate(problem: Problem, upper: float) -> State | None:
    """What holds below `upper` seconds (infinity: always), or None: no schedule is that short.

    O(edges x workers^2) at worst for each of a few rounds; milliseconds for a thousand tasks.
    """
    relaxation = Relaxation.of(problem)
    return tightened(relaxation, initial(relaxation, upper))


def initial(relaxation: Relaxation, upper: float) -> State:
    """Nothing known but releases and where tasks are eligible."""
    n, w = relaxation.seconds.shape
    eligible = np.isfinite(relaxation.seconds)
    heads = np.repeat(relaxation.release[:, None], w, axis=1)
    everyone = np.ones(n, dtype=np.bool_)
    return State(upper, heads, np.zeros((n, w)), eligible, np.arange(n), everyone)


def tightened(relaxation: Relaxation, state: State, rounds: int = MOST_ROUNDS) -> State | None:
    """The state, sharpened in place until nothing changes; None: there is no schedule."""
    target = state.upper * (1 - ROUNDING)
    slack = DEADLINE_SLACK * min(state.upper, 1e300)
    seconds, work = relaxation.seconds, relaxation.work
    undecided = np.zeros(relaxation.n_pairs, dtype=np.int8)
    for _ in range(rounds):
        for side, values in (
            (relaxation.forward, state.head),
            (relaxation.backward, state.tail),
        ):
            everyone = np.ones(len(seconds), dtype=np.bool_)
            raised = raise_heads(
                side, seconds, work[0], state.active, state.may, values, undecided, everyone
            )
            if raised < 0:
                return None
        if target == np.inf:
            break
        changed = restrict(
            relaxation.forward,
            seconds,
            work,
            relaxation.deadline,
            state.head,
            state.tail,
            target,
            slack,
            state.active,
            state.may,
            state.together,
        )
        if changed < 0:
            return None
        if changed == 0:
            break
    return state
