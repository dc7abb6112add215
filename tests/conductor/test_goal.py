"""Goals: as people say them, and refused with what is possible."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import conduct, rewrite
from orchestrator_core.conductor.goal import REWRITES, Goal, goal_of
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.ir.read import read
from orchestrator_core.conductor.rewrite import SPENT
from orchestrator_core.conductor.rewriting import REWRITES as REGISTERED
from orchestrator_core.conductor.rewriting import rewritten
from orchestrator_core.conductor.site import Site
from orchestrator_core.errors import InvalidGoal
from tests.conductor.toys import install


@pytest.mark.parametrize(
    ("given", "size"),
    [
        (None, None),
        (1_000, 1_000),
        (2.5e3, 2_500),
        ("2GiB", 2 * 2**30),
        (" 512 MB ", 512_000_000),
        ("1e9", 10**9),
        ("1.5kib", 1536),
        ("64b", 64),
    ],
)
def test_memory_in_bytes_or_as_text(given: Any, size: int | None) -> None:
    assert goal_of(memory=given).memory == size


@pytest.mark.parametrize(
    "given", ["", "GiB", "2 apples", "-1", "1.2.3GB", ".", 0, -5, "inf", "1e999"]
)
def test_memory_that_is_none(given: Any) -> None:
    with pytest.raises(InvalidGoal, match="memory="):
        goal_of(memory=given)


@pytest.mark.parametrize(
    ("wrong", "possible"),
    [
        ({"precision": "exact"}, "real, strict"),
        ({"objective": "money"}, "time, memory"),
        ({"allow": ["tiling", "tilling"]}, "algebra, recurrence, loops, tiling"),
        ({"deny": "attention"}, "algebra, recurrence, loops, tiling"),
        ({"budget_s": -1}, "seconds >= 0"),
        ({"budget_s": float("nan")}, "seconds >= 0"),
        ({"budget_s": None}, "seconds >= 0"),
        ({"budget_s": "soon"}, "seconds >= 0"),
        ({"allow": ["tiling", None]}, "algebra, recurrence, loops, tiling"),
        ({"allow": 5}, "algebra, recurrence, loops, tiling"),
        ({"deny": None}, "algebra, recurrence, loops, tiling"),
        ({"goal": "memory"}, "expected a Goal"),
        ({"goal": Goal(), "objective": "memory"}, "give either"),
    ],
)
def test_what_is_not_known_is_refused_with_what_is(wrong: dict[str, Any], possible: str) -> None:
    with pytest.raises(InvalidGoal, match=possible):
        conduct(abs, **wrong)


def test_one_name_or_several() -> None:
    assert goal_of(allow="tiling").allow == frozenset({"tiling"})
    assert goal_of(deny=["tiling", "loops"]).deny == frozenset({"tiling", "loops"})
    assert goal_of(allow=[]).allow == frozenset()


def test_what_is_permitted() -> None:
    goal = goal_of(allow=["tiling", "loops"], deny="loops")
    assert [name for name in REWRITES if goal.permits(name)] == ["tiling"]
    assert all(map(goal_of().permits, REWRITES))


def test_every_rewrite_has_a_name_that_can_be_given() -> None:
    assert tuple(REGISTERED) == REWRITES


def test_each_rewrite_is_given_what_is_left_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[float] = []

    def waits(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
        given.append(goal.budget_s)
        return graph, []

    install(monkeypatch, tiling=waits, kernels=waits)
    rewritten(Graph((), (), (), {}), Goal(budget_s=60))
    assert 60 >= given[0] > given[1] > 0


def test_a_rewrite_for_which_no_seconds_are_left_is_named() -> None:
    _, sites = rewritten(Graph((), (), (), {}), Goal(budget_s=0, deny=frozenset({"loops"})))
    assert [site.rewrite for site in sites] == [each for each in REWRITES if each != "loops"]
    assert {site.reason for site in sites} == {"not tried: the seconds of budget_s were spent"}


def test_bodies_of_loops_share_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    """Four loops, each of whose bodies takes 20 of 50 seconds: the third is begun with 10 left, and
    nobody looks at the fourth, nor at the function around them."""

    def loops(x: jax.Array) -> jax.Array:
        for _ in range(4):
            x = jax.lax.fori_loop(0, 3, lambda _, x: jnp.sin(x), x)
        return x

    given: list[float] = []
    clock = 0.0

    def takes_20_seconds(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
        nonlocal clock
        clock += 20.0
        given.append(goal.budget_s)
        return graph, []

    monkeypatch.setattr(rewrite, "monotonic", lambda: clock)
    graph = read(jax.make_jaxpr(loops)(jnp.ones(3)))
    after, (site,) = rewrite.in_bodies("tiling", takes_20_seconds, graph, Goal(budget_s=50))
    assert after is graph
    assert given == [50, 30, 10]
    assert (site.rewrite, site.reason) == ("tiling", SPENT)


def test_decisions_of_a_pinned_plan() -> None:
    site = Site("tiling", "a.py:1 (f)", "pairs", "2 passes", "", settings={"tile": [64, 64]})
    goal = Goal(pinned=(site,))
    assert goal.decided("tiling", "a.py:1 (f)", "pairs") is site
    assert goal.decided("tiling", "a.py:2 (f)", "pairs") is None
    assert Goal().decided("tiling", "a.py:1 (f)", "pairs") is None
