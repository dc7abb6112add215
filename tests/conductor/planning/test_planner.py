"""Plans are pinned, remembered and replayed: what was decided is decided again, never more."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import Goal, conduct, rewrite
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.planning import planner
from orchestrator_core.conductor.planning.memory import MEMORY
from orchestrator_core.conductor.site import AS_IT_IS, Site
from orchestrator_core.errors import InvalidFormat
from tests.conductor.toys import exponentials, install, refusing

X = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)


def function(x: jax.Array) -> jax.Array:
    return jnp.exp(x @ x.T).sum()


class Counting:
    """A rewrite that counts how often it is asked."""

    def __init__(self, rewrite: Callable[..., Any]) -> None:
        self.rewrite, self.calls = rewrite, 0
        self.pins: list[tuple[Site, ...] | None] = []

    def __call__(self, graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
        self.calls += 1
        self.pins.append(goal.pinned)
        result: tuple[Graph, list[Site]] = self.rewrite(graph, goal)
        return result


def planned(monkeypatch: pytest.MonkeyPatch) -> dict[str, Any]:
    """A plan of the function, through JSON."""
    install(monkeypatch, recurrence=refusing, tiling=exponentials)
    first = conduct(function)
    first(X)
    loaded: dict[str, Any] = json.loads(json.dumps(first.plan))
    return loaded


def test_a_plan_says_what_was_decided(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch)
    (program,) = plan["programs"]
    assert [(s["rewrite"], s["chosen"]) for s in program["sites"]] == [
        ("recurrence", AS_IT_IS),
        ("tiling", "another exponential"),
    ]
    assert plan["goal"]["objective"] == "time"
    assert set(plan["made_with"]) == {"jax", "jaxlib", "device"}


def test_a_rewrite_that_changed_nothing_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch)
    refused, taken = Counting(refusing), Counting(exponentials)
    install(monkeypatch, recurrence=refused, tiling=taken)
    again = conduct(function, plan=plan)
    np.testing.assert_allclose(again(X), function(X), rtol=1e-6)
    assert (refused.calls, taken.calls) == (0, 1)
    assert again.plan["programs"] == plan["programs"]
    assert "decided by the pinned plan" in str(again.explain())


def test_a_site_that_was_left_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch)
    plan["programs"][0]["sites"][1]["chosen"] = AS_IT_IS
    again = conduct(function, plan=plan)
    again(X)
    assert [site["chosen"] for site in again.plan["programs"][0]["sites"]] == [AS_IT_IS] * 2


def test_a_plan_of_something_else_is_not_followed(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch)
    again = conduct(function, plan=json.dumps(plan))
    told = str(again.explain(X[:2]))
    assert "planned anew" in told
    assert "another exponential" in told


def test_what_cannot_be_decided_again_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = planned(monkeypatch)
    install(monkeypatch, recurrence=refusing, tiling=_now_refusing)
    told = " ".join(str(conduct(function, plan=plan).explain(X)).split())
    assert "the plan says 'another exponential'" in told
    assert "not on this device" in told


def _now_refusing(graph: Graph, goal: Goal) -> tuple[Graph, list[Site]]:
    sites = exponentials(graph, Goal())[1]
    told = "not on this device"
    return graph, [Site(s.rewrite, s.source, s.found, AS_IT_IS, told) for s in sites]


@pytest.mark.parametrize(
    "wrong", ["", "{}", "[1]", '{"format": "other"}', {"programs": []}, b"\xff"]
)
def test_what_is_no_plan_is_refused(wrong: Any) -> None:
    with pytest.raises(InvalidFormat, match="plan"):
        conduct(function, plan=wrong)


@pytest.mark.parametrize(
    ("name", "wrong"), [("place", "3"), ("place", 1.0), ("measured", []), ("measured", [1, 2, 3])]
)
def test_a_plan_with_a_site_that_is_none_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, wrong: Any
) -> None:
    """When it is given, not in each call that follows it."""
    plan = planned(monkeypatch)
    plan["programs"][0]["sites"][0][name] = wrong
    with pytest.raises(InvalidFormat, match="this is no plan"):
        conduct(function, plan=json.dumps(plan))


def test_a_function_made_anew_is_not_planned_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "WORTH_MEMORY_S", 0.0)
    counting = Counting(exponentials)
    install(monkeypatch, tiling=counting)
    for scale in (1, 1, 2):
        made = conduct(lambda x, scale=scale: scale * function(x))
        np.testing.assert_allclose(made(X), scale * function(X), rtol=1e-6)
    assert counting.calls == 2


def test_constants_of_one_function_never_serve_another(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(planner, "WORTH_MEMORY_S", 0.0)
    install(monkeypatch, tiling=exponentials)
    for k in range(3):
        table = np.arange(12.0, dtype="float32").reshape(3, 4) * k
        np.testing.assert_allclose(conduct(lambda x, t=table: x * t)(X), X * table)


def test_settings_of_one_function_never_serve_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same operations on the same lines, which draw other numbers."""
    monkeypatch.setattr(planner, "WORTH_MEMORY_S", 0.0)
    install(monkeypatch, tiling=exponentials)
    for each in (True, False):

        def drawn(key: jax.Array, each: bool = each) -> jax.Array:
            with jax.threefry_partitionable(each):
                return jnp.exp(jax.random.uniform(key, (5,)))

        key = jax.random.key(0)
        np.testing.assert_allclose(conduct(drawn)(key), drawn(key), rtol=1e-6)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A plan cache in which everything is kept."""
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", str(tmp_path))
    monkeypatch.setattr(planner, "WORTH_DISK_S", 0.0)
    return tmp_path


def test_decisions_outlive_the_process(monkeypatch: pytest.MonkeyPatch, disk: Path) -> None:
    """For functions that differ in their constants alone, which programs are not left to."""
    refused, taken = Counting(refusing), Counting(exponentials)
    install(monkeypatch, recurrence=refused, tiling=taken)
    for k in range(2):
        MEMORY.forget()
        table = jnp.arange(12.0).reshape(3, 4) / (k + 10)
        ours = conduct(lambda x, t=table: function(x * t))
        np.testing.assert_allclose(ours(X), function(X * table), rtol=1e-6)
    assert (refused.calls, taken.calls) == (1, 2)
    assert taken.pins[0] is None
    assert taken.pins[1] is not None
    MEMORY.forget()
    conduct(lambda x, t=table: function(x * t), objective="memory")(X)
    assert refused.calls == 2, "another goal is another plan"


def test_what_there_was_no_time_for_is_asked_by_the_next_process(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    """A plan of half of the rewrites, made on a busy machine, would be taken for all of them."""
    taken = Counting(exponentials)
    install(monkeypatch, tiling=taken)
    clock = iter([0.0, 31.0, 31.0])
    with monkeypatch.context() as busy:
        busy.setattr(rewrite, "monotonic", lambda: next(clock))
        assert "budget_s were spent" in str(conduct(function).explain(X))
    assert taken.calls == 0
    assert not list(disk.iterdir())
    MEMORY.forget()
    conduct(function)(X)
    assert taken.calls == 1


def test_files_that_cannot_be_read_are_no_plans(
    monkeypatch: pytest.MonkeyPatch, disk: Path
) -> None:
    taken = Counting(exponentials)
    install(monkeypatch, tiling=taken)
    conduct(function)(X)
    MEMORY.forget()
    for file in disk.iterdir():
        file.write_bytes(b"\x00 no JSON")
    conduct(function)(X)
    assert taken.pins == [None, None]


@pytest.mark.parametrize("said", ["off", "OFF", " Off "])
def test_whoever_wants_none_kept_gets_no_folder_of_that_name(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, said: str
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", said)
    monkeypatch.setattr(planner, "WORTH_DISK_S", 0.0)
    install(monkeypatch, tiling=exponentials)
    np.testing.assert_allclose(conduct(function)(X), function(X), rtol=1e-6)
    assert list(tmp_path.iterdir()) == []


def test_without_a_folder_nothing_is_remembered(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "a file"
    file.touch()
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", str(file / "folder"))
    monkeypatch.setattr(planner, "WORTH_DISK_S", 0.0)
    install(monkeypatch, tiling=exponentials)
    np.testing.assert_allclose(conduct(function)(X), function(X), rtol=1e-6)
