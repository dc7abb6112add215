"""The arrays that compiled code takes."""

from __future__ import annotations

import numpy as np
from numba import typeof

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph import Cluster, Edge, Link, Mode, Task, TaskGraph, Worker
from orchestrator_core.plan.engine.expand import expand


def an_instance(number: type[int] | type[float]) -> Instance:
    """Every quantity that a user may write as a whole number."""
    two = number(2)
    modes = (Mode(seconds=two, memory=two, resources={"GPU": two}, consumes={"credit": two}),)
    due = {"release": number(0), "deadline": number(99), "due": number(9), "weight": two}
    tasks = [Task(name, modes=modes, output_bytes=two, **due) for name in "ab"]
    graph = TaskGraph.from_tasks(tasks, [Edge("a", "b", two)])
    worker = Worker("w", memory=number(8), speed=two, price=two, resources={"GPU": two})
    link = Link(latency=two, bandwidth=two, encode_rate=two)
    return Instance.price(graph, Cluster([worker], link=link, stock={"credit": number(8)}))


def test_whole_numbers_are_no_other_types_to_compiled_code() -> None:
    """Else a worker with `memory=8` would have every function compiled once more, for a minute."""
    whole, real = expand(an_instance(int)), expand(an_instance(float))
    assert typeof(whole) == typeof(real)
    assert all(np.array_equal(a, b) for a, b in zip(whole, real, strict=True))
