"""What does not stand a check is put back, and nothing else is."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import rewriting
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.guard import guard
from orchestrator_core.conductor.guard.measure import timed_in_turns
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.planning.planned import Planned
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.errors import InvalidGoal

X = jnp.linspace(-1, 1, 64)


def function(x: Any) -> list[Any]:
    return [jnp.sin(x), jnp.cos(x), jnp.tan(x)]


GRAPH = read(jax.make_jaxpr(function)(X))


def replacing(rewrite: str, **made: Callable[[Any], Any]) -> rewriting.Rewrite:
    """A rewrite that computes what nodes of these names do in another way; a site for each."""

    def apply(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
        nodes, sites = [], []
        for node in graph.nodes:
            how = made.get(node.name)
            if how is not None:
                site = Site(rewrite, "", node.name, "another way", "because")
                said = goal.decided(rewrite, "", node.name)
                if said is not None and not said.is_changed:
                    sites.append(dataclasses.replace(site, chosen=AS_IT_IS, reason="pinned"))
                else:
                    sites.append(site)
                    node = Node("other", node.inputs, node.outputs, lambda a, how=how: [how(a[0])])
            nodes.append(node)
        return graph.with_nodes(nodes), sites

    return apply


def right_sin(x: Any) -> Any:
    return jnp.cos(x - jnp.pi / 2)


def wrong(x: Any) -> Any:
    return jnp.sin(x) + 0.01


def planned_by(
    monkeypatch: pytest.MonkeyPatch, goal: Goal, **rewrites: rewriting.Rewrite
) -> Planned:
    monkeypatch.setitem(sys.modules, "made_for_this_test", SimpleNamespace(**rewrites))
    names = {name: f"made_for_this_test:{name}" for name in rewrites}
    monkeypatch.setattr(rewriting, "REWRITES", names)
    graph, sites = rewriting.rewritten(GRAPH, goal)
    return Planned(lambda: graph, tuple(sites), "", "the rewrites")


def chosen(planned: Planned) -> dict[str, str]:
    return {site.found: site.chosen for site in planned.sites}


def losing(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    """Forgets the first node."""
    after = dataclasses.replace(graph, nodes=graph.nodes[1:])
    return after, [Site("algebra", "", "a node", "nothing", "a mistake")]


@pytest.mark.usefixtures("forgiving")
def test_a_graph_that_cannot_be_run_is_not_taken(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(
        monkeypatch, Goal(), algebra=losing, tiling=replacing("tiling", sin=right_sin)
    )
    assert chosen(planned) == {"the whole function": AS_IT_IS, "sin": "another way"}
    assert "nobody makes" in planned.sites[0].reason
    np.testing.assert_allclose(evaluate(planned.graph, [X])[0], jnp.sin(X), rtol=1e-6, atol=1e-7)


PROBE = Goal(check="probe")


def test_what_is_right_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(monkeypatch, PROBE, algebra=replacing("algebra", sin=right_sin))
    assert guard.guarded(GRAPH, planned, PROBE, [X]) is planned


def test_only_the_wrong_site_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    rewrite = replacing("algebra", sin=right_sin, tan=wrong)
    planned = planned_by(monkeypatch, PROBE, algebra=rewrite)
    kept = guard.guarded(GRAPH, planned, PROBE, [X])
    assert chosen(kept) == {"sin": "another way", "tan": AS_IT_IS}
    (told,) = [site for site in kept.sites if not site.is_changed]
    assert "output 2" in told.reason
    np.testing.assert_allclose(evaluate(kept.graph, [X])[2], jnp.tan(X), rtol=1e-6)


def test_only_the_wrong_rewrite_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(
        monkeypatch,
        PROBE,
        algebra=replacing("algebra", sin=right_sin),
        tiling=replacing("tiling", tan=wrong, cos=wrong),
    )
    kept = guard.guarded(GRAPH, planned, PROBE, [X])
    assert chosen(kept) == {"sin": "another way", "tan": AS_IT_IS, "cos": AS_IT_IS}


def test_if_nothing_is_right_the_original_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(monkeypatch, PROBE, algebra=replacing("algebra", sin=wrong))
    kept = guard.guarded(GRAPH, planned, PROBE, [X])
    assert kept.graph is GRAPH
    assert chosen(kept) == {"sin": AS_IT_IS}


def test_a_program_that_cannot_run_is_put_back(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(x: Any) -> Any:
        raise RuntimeError("it is broken")

    planned = planned_by(monkeypatch, PROBE, algebra=replacing("algebra", sin=broken))
    kept = guard.guarded(GRAPH, planned, PROBE, [X])
    assert kept.graph is GRAPH
    assert "it is broken" in kept.sites[0].reason


def test_nothing_is_checked_unless_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(monkeypatch, Goal(), algebra=replacing("algebra", sin=wrong))
    assert guard.guarded(GRAPH, planned, Goal(), [X]) is planned


def test_inside_a_trace_it_says_that_it_has_not_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    planned = planned_by(monkeypatch, PROBE, algebra=replacing("algebra", sin=wrong))
    found: list[Planned] = []

    def traced(x: Any) -> Any:
        found.append(guard.guarded(GRAPH, planned, PROBE, [x]))
        return x

    jax.make_jaxpr(traced)(X)
    assert found[0].graph is planned.graph
    assert guard.INSIDE_A_TRACE in found[0].notes


@pytest.mark.parametrize(("after", "is_kept"), [(1.02, True), (0.5, True), (1.04, False)])
def test_what_is_measured_slower_is_put_back(
    monkeypatch: pytest.MonkeyPatch, after: float, is_kept: bool
) -> None:
    goal = Goal(check="measure")
    planned = planned_by(monkeypatch, goal, algebra=replacing("algebra", sin=right_sin))
    monkeypatch.setattr(guard, "measured", lambda *_: (1.0, after))
    kept = guard.guarded(GRAPH, planned, goal, [X])
    assert (kept.graph is planned.graph) == is_kept
    assert chosen(kept) == {"sin": "another way" if is_kept else AS_IT_IS}
    assert any("measured" in note for note in kept.notes)


def test_both_are_timed_in_turns() -> None:
    order: list[str] = []
    times = timed_in_turns([lambda: order.append("a"), lambda: order.append("b")])
    assert order[:6] == ["a", "b", "b", "a", "a", "b"]
    assert all(time > 0 for time in times)


def test_an_unknown_check_is_refused() -> None:
    with pytest.raises(InvalidGoal, match="probe"):
        Goal(check="pray")
