"""What flows and tasks say of themselves: names, tags, logs, artifacts, what runs."""

from __future__ import annotations

from typing import Any

from prefect import get_run_logger, tags, task
from prefect.artifacts import create_markdown_artifact, create_table_artifact
from prefect.assets import materialize
from prefect.runtime import flow_run, task_run

from .row import Row
from .tasks import add


@task(task_run_name="adds {x}", tags=["tagged"])
def named(x: int) -> str:
    return f"{task_run.name} {sorted(task_run.tags)}"


@task(task_run_name=lambda: f"made up for {task_run.parameters['x']}")
def named_by_function(x: int) -> str:
    return str(task_run.name)


@task(log_prints=True)
def says(what: str) -> None:
    print(f"printed {what}")
    get_run_logger().info("logged %s", what)
    get_run_logger().warning("warned of %s", what)


@task
def draws(x: int) -> None:
    create_markdown_artifact(f"# {x}", key="parity-task", description="from a task")


@materialize("parity://asset")
def makes_an_asset() -> int:
    return 1


def names() -> list[Any]:
    other = add.with_options(name="sum", task_run_name="sum of {x}", tags=["mine"], retries=2)
    return [
        named.submit(1).result(),
        named_by_function.submit(2).result(),
        other.submit(3).result(),
        named.with_options(task_run_name="other {x}").submit(4).result(),
        [each.result() for each in named.map([5, 6])],
    ]


def tagged() -> list[Any]:
    with tags("outer"):
        first = named.submit(1)
        with tags("inner"):
            second = named.submit(2)
    return [first.result(), second.result(), named.submit(3).result(), sorted(flow_run.tags)]


def logs() -> None:
    print("printed by the flow")
    says.submit("one").wait()
    get_run_logger().info("logged by the flow")
    says.submit("two").wait()


def artifacts() -> None:
    create_table_artifact([{"a": 1}], key="parity-flow")
    draws.submit(1).wait()


def assets() -> int:
    return add.submit(makes_an_asset.submit()).result()


def knows_itself(count: int = 2) -> list[Any]:
    seen = add.submit(1)
    return [flow_run.flow_name, flow_run.parameters, flow_run.run_count, seen.result()]


ROWS = [
    Row(names),
    Row(tagged, slow=True),
    Row(logs, {"log_prints": True}, report=True),
    Row(artifacts, report=True),
    Row(assets, slow=True),
    Row(knows_itself, {"name": "Named flow", "flow_run_name": "counts to {count}"}, slow=True),
]
