"""Branch and bound on placements: cheap looks first, dear ones where they count."""

from __future__ import annotations

import pytest

from orchestrator_core.plan.bounds import branching
from orchestrator_core.plan.bounds.branching import Leaf, Tree, settle
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
    root = Leaf(0.0, tightened(relaxation, initial(relaxation, upper)), is_packed=True)
    settle(relaxation, root)
    tree, looked = Tree(relaxation, root, upper), list[Leaf]()

    def nothing_fits_less(relaxation: Relaxation, leaf: Leaf, tries: int) -> object:
        looked.append(leaf)
        return iter(())

    monkeypatch.setattr(branching, "pack", nothing_fits_less)
    cases = list(tree.grow())
    assert len(cases) > 1
    assert looked == []
    least = min(case.value for case in cases)
    bound = tree.bound
    more = list(tree.grow())
    assert [leaf.value for leaf in looked] == [least]
    assert looked[0] in cases
    assert set(map(id, more)) <= set(map(id, looked[0].cases.values()))
    assert tree.bound >= bound
