"""Branch and bound on placements: cheap looks first, dear ones where they count."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from orchestrator_core.plan.bounds import branching
from orchestrator_core.plan.bounds.branching import Tree
from orchestrator_core.plan.bounds.leaf import Leaf, settle
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import initial, tightened
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
from orchestrator_core.plan.planner import Brief
from tests.benchmarks.plan.instances import layered


def test_whole_tasks_are_fitted_in_the_most_promising_case_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Of four cases of a task one is looked at closely, and it comes first again only if that
    does not raise its bound."""
    instance = layered(30, 4, 1.0, 3)
    schedule = next(LIST_PLANNERS[0].plan(Brief(instance))).schedule
    assert schedule is not None
    upper = schedule.makespan
    relaxation = Relaxation.of(expand(instance))
    root = Leaf(0.0, tightened(relaxation, initial(relaxation, upper)), looks=2)
    settle(relaxation, root)
    looked, counted = list[Leaf](), list[Leaf]()

    def nothing_fits_less(relaxation: Relaxation, leaf: Leaf, tries: int) -> Iterator[None]:
        looked.append(leaf)
        yield

    def nothing_counts(relaxation: Relaxation, leaf: Leaf, tries: int) -> Iterator[None]:
        counted.append(leaf)
        yield

    monkeypatch.setattr(branching, "pack", nothing_fits_less)
    monkeypatch.setattr(branching, "count", nothing_counts)
    tree = Tree(relaxation, root, upper)
    cases = list(tree.grow())
    assert len(cases) > 1
    assert looked == counted == []
    least = min(case.value for case in cases)
    bound = tree.bound
    more = list(tree.grow())
    assert [leaf.value for leaf in looked] == [least]
    assert [id(leaf) for leaf in counted] == [id(leaf) for leaf in looked]
    assert id(looked[0]) in map(id, cases)
    assert set(map(id, more)) <= {id(looked[0]), *map(id, looked[0].cases.values())}
    assert tree.bound >= bound
