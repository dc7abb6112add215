"""The same code on other lines, or in another file: one plan, told by the lines of each."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax
import jax.numpy as jnp
import pytest

from orchestrator_core.conductor import conduct
from orchestrator_core.conductor.planning import planner
from orchestrator_core.conductor.planning.memory import MEMORY
from orchestrator_core.conductor.site import AS_IT_IS
from tests.conductor.toys import exponentials, install, refusing

X = jnp.linspace(0.0, 1.0, 12).reshape(3, 4)

CODE = """
def body(c, x):
    return c + jnp.exp(x), c

def function(x):
    y = jnp.exp(x @ x.T)
    return jax.lax.scan(body, y.sum(), x[:, 0])
"""


def written(file: str, lines: int) -> Callable[..., Any]:
    """The function, in this file after so many lines of something else."""
    names: dict[str, Any] = {"jax": jax, "jnp": jnp}
    exec(compile("\n" * lines + CODE, file, "exec"), names)
    function: Callable[..., Any] = names["function"]
    return function


def lines(plan: dict[str, Any]) -> list[tuple[str, str]]:
    (program,) = plan["programs"]
    return [(site["rewrite"], site["source"]) for site in program["sites"]]


@pytest.fixture(autouse=True)
def every_rewrite_has_a_site(monkeypatch: pytest.MonkeyPatch) -> None:
    install(monkeypatch, recurrence=refusing, tiling=exponentials)


def test_a_pinned_plan_of_moved_code_is_taken_whole() -> None:
    first = conduct(written("/project/first.py", 3))
    first(X)
    plan = json.loads(json.dumps(first.plan))
    moved = conduct(written("/elsewhere/second.py", 40), plan=plan)
    moved(X)
    assert "decided by the pinned plan" in str(moved.explain(X))
    assert "says" not in str(moved.explain(X)), "nothing deviates"
    before, after = lines(plan), lines(moved.plan)
    assert [name for name, _ in after] == [name for name, _ in before]
    sources = {source.split(" ")[0] for _, source in after if source}
    assert sources
    assert all(source.startswith("/elsewhere/second.py:4") for source in sources)


def test_what_others_decided_is_told_by_the_lines_of_this_code(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_PLAN_CACHE", str(tmp_path))
    monkeypatch.setattr(planner, "WORTH_DISK_S", 0.0)
    for file in ("first.py", "second.py"):
        MEMORY.forget()
        function = conduct(written(f"/project/{file}", 3 * len(file)))
        function(X)
        (program,) = function.plan["programs"]
        assert any(site["chosen"] != AS_IT_IS for site in program["sites"])
        told = [source for _, source in lines(function.plan) if source]
        assert told
        assert all(source.startswith(f"/project/{file}:") for source in told)
    assert "decided by the plan cache" in str(function.explain(X))
