"""Names of other people's tasks are only text, in graphs as in refusals."""

from __future__ import annotations

import pytest
from prefect import flow

from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.text import as_name
from orchestrator_prefect.sending.flow_graph import flow_graph
from orchestrator_prefect.tracing.trace import trace
from orchestrator_prefect.tracing.watch import Refused
from tests.payloads import PAYLOADS

from . import named_flows


def test_tasks_are_called_as_in_a_run() -> None:
    graph = flow_graph(trace(flow(named_flows.many), {"names": PAYLOADS}).submissions)
    assert list(graph.names) == [as_name(f"{as_name(name)}-0") for name in dict.fromkeys(PAYLOADS)]
    assert TaskGraph.from_json(graph.to_json()).names == graph.names


def test_refusals_are_one_line_that_steers_nothing() -> None:
    made = flow(named_flows.branches)
    for name in PAYLOADS:
        with pytest.raises(Refused) as caught:
            trace(made, {"name": name})
        assert str(caught.value).isprintable(), name
        assert "is compared, which only a run can tell" in str(caught.value)


def test_parameters_become_what_the_flow_says_they_are() -> None:
    graph = flow_graph(
        trace(flow(named_flows.typed), {"days": ["2024-03-01"], "n": "2"}).submissions
    )
    assert list(graph.names) == ["2024-3-0", "2024-3-1"]
    with pytest.raises(Refused, match=r"valid integer.*give them as --param NAME=VALUE"):
        trace(flow(named_flows.typed), {"days": [], "n": "two"})
    with pytest.raises(Refused, match="missing a required argument: 'days'"):
        trace(flow(named_flows.typed), {})
    with pytest.raises(Refused, match="submits no task"):
        trace(flow(named_flows.typed), {"days": []})


@pytest.mark.parametrize(
    ("times", "calls"),
    [
        (1, "it calls flow 'part-0' itself; "),
        (5, "it calls flow 'part-0', flow 'part-1', flow 'part-2' and 2 more itself; "),
    ],
)
def test_a_flow_of_flows_has_nothing_to_plan_but_they_have(times: int, calls: str) -> None:
    with pytest.raises(Refused) as caught:
        trace(flow(named_flows.of_flows), {"times": times})
    assert f"so there is nothing to plan: {calls}plan a flow that it calls" in str(caught.value)


def test_what_decorators_say_of_tasks_is_known() -> None:
    found = trace(named_flows.estimated, {})
    assert [each.hint and each.hint.seconds for each in found.submissions] == [120.0]
    assert found.estimates["load"].spread == 20.0
    assert found.inline == {"task 'load'": 1}


def test_nothing_of_arguments_is_looked_at_where_that_is_not_wanted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    given = {"days": ["2024-03-01"], "n": "2"}
    assert trace(flow(named_flows.typed), given).submissions[0].features
    monkeypatch.setenv("ORCHESTRATOR_ARGUMENT_SIZES", "no")
    assert not trace(flow(named_flows.typed), given).submissions[0].features
