"""Choices: the workers that tasks may still run on, as variables. Compiled (stage 3)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from orchestrator_core.graph.task_graph import Ints
from orchestrator_core.plan.bounds.sweep import Flags
from orchestrator_core.plan.engine.compiled import inner


class Choices(NamedTuple):
    """A variable for each task and worker of its own.

    Attributes:
        first: (tasks + 1,) the variables of the i-th task are ``first[i]`` up to ``first[i + 1]``.
        task, worker: (variables,).
        settled: (variables,) is it the only one of its task?
    """

    first: Ints
    task: Ints
    worker: Ints
    settled: Flags


@inner
def choices_of(tasks: Ints, may: Flags) -> Choices:
    """Of these tasks, where (n, w) `may` says that they may run."""
    first = np.zeros(len(tasks) + 1, dtype=np.int64)
    for i in range(len(tasks)):
        first[i + 1] = first[i] + may[tasks[i]].sum()
    nv = first[len(tasks)]
    task, worker = np.empty(nv, dtype=np.int64), np.empty(nv, dtype=np.int64)
    settled = np.zeros(nv, dtype=np.bool_)
    at = 0
    for i in range(len(tasks)):
        for b in range(may.shape[1]):
            if may[tasks[i], b]:
                task[at], worker[at] = tasks[i], b
                settled[at] = first[i + 1] - first[i] == 1
                at += 1
    return Choices(first, task, worker, settled)


@inner
def first_of_open(choices: Choices) -> Ints:
    """`Choices.first` of the tasks with a choice alone, numbered anew."""
    found = np.zeros(len(choices.first), dtype=np.int64)
    many = 0
    for i in range(len(choices.first) - 1):
        workers = choices.first[i + 1] - choices.first[i]
        if workers > 1:
            found[many + 1] = found[many] + workers
            many += 1
    return found[: many + 1]
