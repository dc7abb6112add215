"""One order of precedence for every setting of a flow."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import cloudpickle
import dask
import pytest
from prefect import flow
from prefect.flows import Flow
from prefect.task_runners import ThreadPoolTaskRunner

from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.flow_object import options_of
from orchestrator_prefect.settings.flow_settings import FlowSettings, switched_off
from orchestrator_prefect.settings.options import Options
from orchestrator_prefect.settings.variables import Variables

from ..conftest import Advisor

LEVELS = ("call", "decorator", "environment", "Dask", "Prefect", "pyproject")

VALUES: dict[str, tuple[Any, ...]] = {
    "store": tuple(f"/{level}.db" for level in LEVELS),
    "objective": ("price", "memory", "tardiness", "busy-price", "price,memory", "memory,price"),
    "deadline": (1.0, 2.0, 3.0, 4.0, 5.0, 6.0),
    "max_price": (10.0, 20.0, 30.0, 40.0, 50.0, 60.0),
    "report": (False, True, False, True, False, True),
}
"""What each level says, the nearest first."""

DEFAULTS = {
    "store": None,
    "objective": "makespan",
    "deadline": None,
    "max_price": None,
    "report": True,
}

VARIABLE = {"store": "ORCHESTRATOR_DB"}


class World:
    """The places outside of the code, filled from one level on."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, stack: ExitStack) -> None:
        self._folder, self._patch, self._stack = folder, patch, stack

    def settings(self, name: str, first: int) -> FlowSettings:
        said = dict(zip(LEVELS[first:], VALUES[name][first:], strict=True))
        if "environment" in said:
            variable = VARIABLE.get(name, f"ORCHESTRATOR_{name.upper()}")
            self._patch.setenv(variable, str(said["environment"]))
        if "Dask" in said:
            key = f"orchestrator.{name.replace('_', '-')}"
            self._stack.enter_context(dask.config.set({key: said["Dask"]}))
        if "pyproject" in said:
            value = said["pyproject"]
            text = str(value).lower() if isinstance(value, bool) else repr(value)
            file = self._folder / "pyproject.toml"
            file.write_text(f"[tool.orchestrator]\n{name} = {text}\n")
        told = {f"orchestrator_{name}": said["Prefect"]} if "Prefect" in said else {}
        return FlowSettings.of(
            Options(**{name: said.get("call")}),
            Options(**{name: said.get("decorator")}),
            Variables(read=lambda: told, patience=10.0),
        )


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[World]:
    monkeypatch.delenv("ORCHESTRATOR_DB", raising=False)
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:
        yield World(tmp_path, monkeypatch, stack)


@pytest.mark.parametrize("first", range(len(LEVELS) + 1), ids=[*LEVELS, "default"])
@pytest.mark.parametrize("name", VALUES)
def test_each_level_beats_those_that_follow(world: World, name: str, first: int) -> None:
    expected = VALUES[name][first] if first < len(LEVELS) else DEFAULTS[name]
    # A default that is set explicitly in Dask's configuration says nothing, and so the next counts.
    if LEVELS[first:] and LEVELS[first] == "Dask" and expected == DEFAULTS[name]:
        expected = VALUES[name][first + 1]
    assert getattr(world.settings(name, first), name) == expected


@pytest.mark.parametrize(
    ("code", "environment", "used"),
    [
        (None, None, "auto"),
        ("director", None, "director"),
        ("director", "off", "off"),
        ("off", "observe", "observe"),
        (None, "restrict", "restrict"),
    ],
)
def test_in_the_mode_the_environment_beats_the_code(
    world: World, monkeypatch: pytest.MonkeyPatch, code: Any, environment: str | None, used: str
) -> None:
    if environment is not None:
        monkeypatch.setenv("ORCHESTRATOR_MODE", environment)
    assert FlowSettings.of(Options(mode=code), Options(), None).mode == used
    assert switched_off() == (environment == "off")


def test_what_an_operator_sets_wrongly_costs_the_setting_only(
    world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("ORCHESTRATOR_DEADLINE", "some day")
    found = FlowSettings.of(Options(), Options(deadline=5), None)
    assert found.deadline == 5
    assert FlowSettings.of(Options(), Options(), None).deadline is None
    assert "ORCHESTRATOR_DEADLINE = 'some day' is no time > 0" in caplog.text


def test_no_password_is_part_of_what_is_written(world: World) -> None:
    told = Options(store="postgresql://me:hunter2@host/db")
    found = FlowSettings.of(told, Options(), None)
    assert found.store == told.store
    assert "hunter2" not in f"{told!r} {found!r} {OptimizedTaskRunner(store=told.store)!r}"


def test_estimates_of_the_call_and_of_the_decorator_add_up(world: World) -> None:
    call, decorator = Options(estimates={"a": 1}), Options(estimates={"a": 2, "b": 3})
    found = FlowSettings.of(call, decorator, None).estimates
    assert {name: each.hint.seconds for name, each in found.items()} == {"a": 1.0, "b": 3.0}


def body() -> int:
    return 1


def test_what_the_decorator_was_told_holds_under_another_task_runner() -> None:
    made = optimized_flow(objective="price", store="x.db")(body)
    again = made.with_options(task_runner=OptimizedTaskRunner(objective="memory"))
    assert options_of(again) == Options(objective="price", store="x.db")
    assert again.task_runner.options == Options(objective="memory")
    assert options_of(flow(lambda: 1, name="plain")) == Options()


def test_two_flows_of_one_function_keep_their_own_options() -> None:
    first, second = (optimized_flow(deadline=seconds)(body) for seconds in (10, 20))
    plain = flow(body)
    others = [
        each.with_options(task_runner=OptimizedTaskRunner()) for each in (first, second, plain)
    ]
    assert [options_of(each).deadline for each in others] == [10, 20, None]
    again = others[0].with_options(name="again", retries=1)
    assert (options_of(again).deadline, again.name, again.retries) == (10, "again", 1)


def test_a_method_keeps_the_options_of_its_flow() -> None:
    class Pipeline:
        @optimized_flow(deadline=10)
        def run(self, x: int) -> int:
            return x

        @classmethod
        @optimized_flow(deadline=20)
        def of_the_class(cls) -> None: ...

    assert options_of(Pipeline().run).deadline == 10
    assert options_of(Pipeline.run).deadline == 10


def test_a_flow_travels_as_a_plain_one_and_takes_no_password_along() -> None:
    store = "postgresql://somebody:hunter2@somewhere/db"
    made = optimized_flow(store=store, address="tcp://a:1", name="travels")(body)
    sent = cloudpickle.dumps(made)
    assert b"hunter2" not in sent
    assert b"orchestrator_prefect" not in sent.replace(__name__.encode(), b"")
    arrived = pickle.loads(sent)
    assert type(arrived) is Flow
    assert (arrived.name, arrived.task_runner.address) == ("travels", "tcp://a:1")


def test_what_is_deployed_travels_as_it_is() -> None:
    """`serve` hands it to the process that runs it, and from there it travels as ever."""
    store = "postgresql://somebody:hunter2@somewhere/db"
    told: dict[str, Any] = {"store": store, "objective": "tardiness,makespan", "deadline": "10min"}
    for deploy in (
        lambda made: made.to_deployment("served"),
        lambda made: asyncio.run(made.ato_deployment("served")),
    ):
        made: Any = optimized_flow(address="tcp://a:1", name="travels", **told)(body)
        deploy(made)
        arrived = pickle.loads(cloudpickle.dumps(made))
        assert type(arrived) is type(made)
        assert options_of(arrived) == options_of(made)
        assert arrived.task_runner == made.task_runner
        assert (arrived.name, arrived.fn) == (made.name, made.fn)
        again = cloudpickle.dumps(arrived)
        assert b"hunter2" not in again
        assert type(pickle.loads(again)) is Flow
        assert b"hunter2" not in cloudpickle.dumps(made.plain())


def test_what_is_deployed_keeps_a_runner_that_plans_nothing() -> None:
    made: Any = optimized_flow(task_runner=ThreadPoolTaskRunner(max_workers=3), name="b")(body)
    made.to_deployment("served")
    arrived = pickle.loads(cloudpickle.dumps(made))
    assert type(arrived) is type(made)
    assert arrived.task_runner._max_workers == 3


def test_a_run_takes_the_call_before_the_decorator_before_the_environment(
    cluster: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Seen from a run: what the advisor is asked for."""
    from prefect import task

    asked: list[str | None] = []

    class Asked(Advisor):
        def advise(self, graph: Any, cluster: Any, flow: str, objective: str | None = None) -> Any:
            asked.append(objective)
            return super().advise(graph, cluster, flow)

    @task
    def one() -> int:
        return 1

    def pipeline() -> int:
        return one.submit().result()

    monkeypatch.setenv("ORCHESTRATOR_OBJECTIVE", "tardiness")
    runner = OptimizedTaskRunner(cluster=cluster, advisor=Asked(), report=False)
    plain = optimized_flow(task_runner=runner)(pipeline)
    assert plain() == 1
    told = optimized_flow(task_runner=runner, objective="memory")(pipeline)
    assert told() == 1
    nearer = OptimizedTaskRunner(cluster=cluster, advisor=Asked(), report=False, objective="price")
    assert told.with_options(task_runner=nearer)() == 1
    monkeypatch.delenv("ORCHESTRATOR_OBJECTIVE")
    assert optimized_flow(task_runner=runner, name="plain")(body)() == 1
    assert asked == ["tardiness", "memory", "price"]
