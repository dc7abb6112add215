"""`@optimized_flow` in the place of `@flow`."""

from __future__ import annotations

import inspect
import logging
from types import SimpleNamespace
from typing import Any

import pytest
from distributed import LocalCluster
from prefect import flow, task
from prefect.flows import Flow
from prefect.task_runners import ThreadPoolTaskRunner
from prefect_dask import DaskTaskRunner

from orchestrator_core.errors import InvalidInput
from orchestrator_prefect import OptimizedTaskRunner, decorator, optimized_flow

ARGUMENTS: dict[str, Any] = {
    "name": "another name",
    "version": "7",
    "flow_run_name": "run-{x}",
    "retries": 2,
    "retry_delay_seconds": 3,
    "task_runner": DaskTaskRunner(address="tcp://nowhere:1"),
    "description": "what it does",
    "timeout_seconds": 60,
    "validate_parameters": False,
    "persist_result": True,
    "result_storage": None,
    "result_serializer": "json",
    "cache_result_in_memory": False,
    "log_prints": True,
    "on_completion": [print],
    "on_failure": [print],
    "on_cancellation": [print],
    "on_crashed": [print],
    "on_running": [print],
}


def body(x: int = 1) -> int:
    """What it does, in its own words."""
    return x


def parameters_of_flow() -> list[str]:
    signature = inspect.signature(type(flow).__call__)
    return [name for name, each in signature.parameters.items() if each.kind is each.KEYWORD_ONLY]


def test_the_table_below_has_every_argument_of_flow() -> None:
    assert set(parameters_of_flow()) == set(ARGUMENTS)


@pytest.mark.parametrize("name", [name for name in ARGUMENTS if name != "task_runner"])
def test_an_argument_means_what_it_means_to_flow(name: str) -> None:
    stock, ours = (
        vars(decorate(**{name: ARGUMENTS[name]})(body)) for decorate in (flow, optimized_flow)
    )
    assert stock.keys() == ours.keys()
    differing = {key for key in stock if stock[key] is not ours[key] and stock[key] != ours[key]}
    assert differing == {"task_runner"}


def test_without_arguments_and_with_none() -> None:
    for made in (optimized_flow(body), optimized_flow()(body)):
        assert isinstance(made, Flow)
        assert made.name == "body"
        assert made.description == "What it does, in its own words."
        assert isinstance(made.task_runner, OptimizedTaskRunner)


def test_an_asynchronous_function_makes_an_asynchronous_flow() -> None:
    @optimized_flow(name="later")
    async def later() -> int:
        return 1

    assert later.isasync


def test_methods_can_be_flows() -> None:
    class Pipeline:
        @optimized_flow
        def run(self, x: int) -> int:
            return x

    assert isinstance(Pipeline.run, Flow)


def test_the_cluster_and_the_options_reach_the_runner() -> None:
    made = optimized_flow(address="tcp://a:1", store="x.db", mode="observe", report=False)(body)
    assert made.task_runner == OptimizedTaskRunner(
        address="tcp://a:1", store="x.db", mode="observe", report=False
    )


def test_a_dask_task_runner_gives_its_cluster() -> None:
    given = DaskTaskRunner(cluster_kwargs={"n_workers": 3}, adapt_kwargs={"maximum": 5})
    made = optimized_flow(task_runner=given, store="x.db")(body)
    assert made.task_runner == OptimizedTaskRunner(
        cluster_kwargs={"n_workers": 3}, adapt_kwargs={"maximum": 5}, store="x.db"
    )
    assert isinstance(optimized_flow(task_runner=DaskTaskRunner)(body).task_runner, DaskTaskRunner)


def test_another_task_runner_is_taken_as_the_decorator_takes_it() -> None:
    """With the plain runner itself the flow ran without a plan, and nobody was told."""
    made = optimized_flow(store="x.db")(body)
    other = made.with_options(task_runner=DaskTaskRunner(address="tcp://a:1"), retries=2)
    again = other.with_options(task_runner=DaskTaskRunner)
    assert other.task_runner == OptimizedTaskRunner(address="tcp://a:1", store="x.db")
    assert again.task_runner == OptimizedTaskRunner(store="x.db")
    assert (other.retries, again.retries) == (2, 2)
    assert made.with_options(name="other").task_runner is made.task_runner
    with pytest.raises(InvalidInput, match="is no task runner"):
        made.with_options(task_runner="dask")  # type: ignore[arg-type]


def test_an_optimized_task_runner_is_taken_as_it_is() -> None:
    given = OptimizedTaskRunner(store="x.db")
    assert optimized_flow(task_runner=given)(body).task_runner is given
    assert optimized_flow(body).with_options(task_runner=given).task_runner is given


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("in_worker", [False, True])
def test_a_runner_without_dask_is_kept_and_that_is_said_once(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, in_worker: bool, later: bool
) -> None:
    """Each worker process imports the flow, too."""
    monkeypatch.setattr(decorator, "parent_process", lambda: in_worker or None)
    given, plain = ThreadPoolTaskRunner(max_workers=2), optimized_flow(body)
    logger = logging.getLogger("prefect.orchestrator_prefect.decorator")
    logger.addHandler(caplog.handler)
    logger.setLevel(logging.WARNING)
    try:
        if later:
            made = plain.with_options(task_runner=given)
        else:
            made = optimized_flow(task_runner=given)(body)
    finally:
        logger.removeHandler(caplog.handler)
    assert made.task_runner is given
    said = "flow 'body' is a ThreadPoolTaskRunner; only tasks on Dask can be planned"
    assert (said in caplog.text) is not in_worker


def test_contradictions_and_unknown_arguments_are_refused() -> None:
    with pytest.raises(TypeError, match="both `task_runner` and `address`"):
        optimized_flow(task_runner=DaskTaskRunner(), address="tcp://a:1")
    with pytest.raises(ValueError, match="Cannot specify `address` and"):
        optimized_flow(address="tcp://a:1", cluster_kwargs={"n_workers": 1})
    with pytest.raises(InvalidInput, match="'fast' is no mode; choose one of"):
        optimized_flow(mode="fast")  # type: ignore[call-overload]
    with pytest.raises(InvalidInput, match=r"objective = 'speed' is no objective: .* makespan"):
        optimized_flow(objective="speed")
    with pytest.raises(InvalidInput, match="deadline = 'soon' is no time > 0, such as 90"):
        optimized_flow(deadline="soon")
    with pytest.raises(InvalidInput, match="max_price = -1 is no number > 0"):
        optimized_flow(max_price=-1)
    with pytest.raises(TypeError, match=r"no argument 'spelling'$"):
        optimized_flow(spelling="wrong")
    with pytest.raises(TypeError, match="no argument 'adress'; did you mean 'address'"):
        optimized_flow(adress="tcp://a:1")
    with pytest.raises(TypeError, match=r"cluster's: cluster_kwargs=\{'n_workers': \.\.\.\}"):
        optimized_flow(n_workers=2)
    with pytest.raises(InvalidInput, match=r"cluster_kwargs = \['n_workers'\] is no mapping"):
        optimized_flow(cluster_kwargs=["n_workers"])  # type: ignore[call-overload]


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"max_price": "1"}, "max_price = '1' is text; give a number > 0, such as 2.5"),
        ({"report": "yes"}, "report = 'yes' is text; give True or False"),
        ({"report": 2}, "report = 2 is neither true nor false"),
    ],
)
def test_what_is_a_number_or_a_decision_is_no_text_in_code(
    given: dict[str, Any], told: str
) -> None:
    """A variable of the environment is text; in code, text is a mistake."""
    for make in (optimized_flow, OptimizedTaskRunner):
        with pytest.raises(InvalidInput, match=told):
            make(**given)


@pytest.mark.parametrize("name", ["min_gain", "budget", "plan_wait"])
def test_a_setting_that_is_no_argument_is_told_where_it_stands(name: str) -> None:
    with pytest.raises(TypeError, match=f"it is set by ORCHESTRATOR_{name.upper()}"):
        optimized_flow(**{name: 1})


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cluster_class": 5}, "cluster_class = 5 makes no cluster; give a class"),
        ({"task_runner": "x"}, "task_runner = 'x' is no task runner; leave it out"),
        ({"task_runner": dict}, "task_runner = .*dict.* is no task runner"),
        ({"address": 5}, "address = 5 is no address of a scheduler, such as"),
        ({"cluster": 5}, r"cluster = 5 is no Dask cluster; .*LocalCluster\(\)$"),
        ({"cluster": "tcp://a:1"}, "is no Dask cluster; .* or address='tcp://a:1'"),
        ({"cluster": LocalCluster}, "is no Dask cluster; .* or cluster_class="),
        ({"store": 5}, "store is no text; expected a URL or a path"),
    ],
)
def test_where_tasks_cannot_run_is_refused_at_once(given: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        optimized_flow(**given)


@pytest.mark.parametrize("name", ["cluster_kwargs", "adapt_kwargs", "client_kwargs"])
def test_arguments_that_are_handed_on_are_named(name: str) -> None:
    with pytest.raises(InvalidInput, match=f"{name} = 5 is no mapping"):
        OptimizedTaskRunner(**{name: 5})


@pytest.mark.parametrize(
    "given",
    [
        {"address": ""},
        {"address": SimpleNamespace(scheduler_address="tcp://a:1")},
        {"cluster": SimpleNamespace(scheduler_address="tcp://a:1")},
        {"cluster_class": "distributed.LocalCluster"},
        {"cluster_class": LocalCluster},
        {"cluster_class": lambda: None},
        {"task_runner": DaskTaskRunner},
        {"task_runner": ThreadPoolTaskRunner},
    ],
)
def test_what_a_dask_task_runner_takes_is_taken(given: dict[str, Any]) -> None:
    assert isinstance(optimized_flow(**given)(body), Flow)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (flow(body), "'body' is a flow already: put @optimized_flow in the place of @flow"),
        (task(body), "'body' is a task"),
        ("etl", r"'etl' is none; its arguments are named, such as @optimized_flow\(name="),
        (3, "3 is none"),
    ],
)
def test_what_is_no_function_is_refused(given: Any, told: str) -> None:
    for decorate in (optimized_flow, optimized_flow()):
        with pytest.raises(TypeError, match=told):
            decorate(given)


def test_static_and_class_methods_can_be_flows() -> None:
    made: Any = optimized_flow
    for kind in (staticmethod, classmethod):
        assert isinstance(made(kind(body)), Flow)


def test_a_flow_of_a_flow_is_refused_when_it_runs(prefect_server: None) -> None:
    """Prefect makes it, and would run the flow within itself."""
    told = "'body' is a flow already: put @optimized_flow in the place of @flow, not below it"
    with pytest.raises(TypeError, match=told):
        flow(optimized_flow(body))()
