"""What a flow's decorator says in its source counts in a plan of it, and nothing is imported."""

from __future__ import annotations

from pathlib import Path

import pytest
from dask.system import CPU_COUNT

from orchestrator_core.cli.flow_says import Says, kept, says
from orchestrator_core.cli.target import FlowTarget


def said(tmp_path: Path, decorator: str) -> Says:
    path = tmp_path / "my_flow.py"
    path.write_text(f"raise SystemExit\n{decorator}\ndef main(): ...", encoding="utf-8")
    return says(FlowTarget(str(path), "main"))


def test_it_says_when_it_has_to_end_and_what_for(tmp_path: Path) -> None:
    found = said(tmp_path, "@optimized_flow(deadline='10min', objective=('price', 'makespan'))")
    assert (found.deadline, found.objective) == (600.0, "price,makespan")
    assert found.notes() == (
        "this plan is for the makespan; runs of the flow are for price,makespan",
    )


@pytest.mark.parametrize(
    "decorator",
    ["@optimized_flow", "@optimized_flow(deadline=SOON, objective=WHAT)", "@cached\n@flow"],
)
def test_what_only_its_module_knows_is_left_out(tmp_path: Path, decorator: str) -> None:
    found = said(tmp_path, decorator)
    assert found == Says(None, "makespan", None)
    assert found.notes() == ()


def test_what_it_does_not_say_the_settings_around_do(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DEADLINE", "1min")
    assert said(tmp_path, "@optimized_flow").deadline == 60.0
    assert said(tmp_path, "@optimized_flow(deadline=30)").deadline == 30.0


@pytest.mark.parametrize(
    ("arguments", "workers"),
    [
        ("cluster_kwargs={'n_workers': 3, 'threads_per_worker': 2}", (3, 2)),
        ("cluster_kwargs={'n_workers': 2 * 10**3}", None),  # a sum is not read
        ("cluster_kwargs={'n_workers': 100000}", (100000, 1)),
        ("cluster_kwargs={'n_workers': 1}", (1, CPU_COUNT)),
        ("cluster_kwargs={'threads_per_worker': 2}", None),
        ("cluster_kwargs={'n_workers': True}", None),
        ("cluster_kwargs=CLUSTER", None),
        ("cluster_class='x.Y', cluster_kwargs={'n_workers': 3}", None),
        ("address='tcp://a:1'", None),
    ],
)
def test_workers_that_are_started_for_each_run(
    tmp_path: Path, arguments: str, workers: tuple[int, int] | None
) -> None:
    assert said(tmp_path, f"@optimized_flow({arguments})").workers == workers


def test_a_deadline_is_compared_with_the_forecast() -> None:
    assert kept(10.0, 8.0) == "the deadline of 10.00 s is kept with 2.00 s to spare, as forecast"
    assert kept(10.0, 12.0) == "the deadline of 10.00 s is missed by 2.00 s, as forecast"
