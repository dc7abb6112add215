"""A resource or worker that nobody has is refused by name; plain Dask would wait for ever."""

from __future__ import annotations

import logging
from types import SimpleNamespace
from typing import Any

import dask
import pytest
from prefect import flow, task

from orchestrator_core.errors import InfeasibleInstance
from orchestrator_core.execute.dask.offers import Offer
from orchestrator_prefect import OptimizedTaskRunner
from orchestrator_prefect.settings.supply import Supply

from ..conftest import Advisor

OFFERS = [
    Offer("cpu-0", "tcp://10.0.0.1:4001", "10.0.0.1", {}),
    Offer("cpu-1", "tcp://10.0.0.2:4001", "10.0.0.2", {}),
    Offer("gpu", "tcp://10.0.0.3:4001", "10.0.0.3", {"GPU": 1, "MEM": 8}),
    Offer(7, "tcp://10.0.0.4:4001", "10.0.0.4", {"GPU": 0}),
]


class Client:
    """As much of a client as is asked: its cluster, and what the scheduler answers."""

    def __init__(self, offers: list[Offer] | None = None, **cluster: Any) -> None:
        self.offers = OFFERS if offers is None else offers
        self.cluster = SimpleNamespace(_adaptive=None, **cluster)
        self.asked = 0

    def run_on_scheduler(self, question: Any) -> Any:
        self.asked += 1
        return [(o.name, o.address, o.host, dict(o.resources)) for o in self.offers]


@pytest.fixture
def logger(caplog: pytest.LogCaptureFixture) -> logging.Logger:
    caplog.set_level(logging.DEBUG)
    return logging.getLogger("test-supply")


@pytest.mark.parametrize(
    ("resources", "workers"),
    [
        ({"GPU": 1}, ()),
        ({"GPU": 0.5, "MEM": 8}, ()),
        ({}, ["cpu-1", "nobody"]),
        ({"GPU": 1}, ["gpu"]),
        ({}, ["tcp://10.0.0.1:4001"]),
        ({}, ["10.0.0.2"]),
        ({}, ["some.host.example"]),
        ({}, [7]),
        ({}, ()),
    ],
)
def test_what_somebody_has_is_let_through(
    resources: Any, workers: Any, logger: logging.Logger
) -> None:
    client = Client()
    supply = Supply(client, logger)
    for _ in range(3):
        supply.check("train", resources, workers)
    assert client.asked == (1 if resources or workers else 0), "the answer is remembered"


@pytest.mark.parametrize(
    ("resources", "workers", "needs"),
    [
        ({"GPU": 2}, (), "2 GPU"),
        ({"TPU": 1, "GPU": 1}, (), "1 GPU and 1 TPU"),
        ({}, ["w8", "w9"], "worker 'w8' or 'w9'"),
        ({"GPU": 1}, ["cpu-0"], "1 GPU on worker 'cpu-0'"),
        ({}, ["7"], "worker '7'"),
    ],
)
def test_what_nobody_has_is_refused_with_what_there_is(
    resources: Any, workers: Any, needs: str, logger: logging.Logger
) -> None:
    with pytest.raises(InfeasibleInstance) as refused:
        Supply(Client(), logger).check("train", resources, workers)
    said = str(refused.value)
    assert said.startswith(f"task 'train' needs {needs}, ")
    assert "(workers cpu-0, cpu-1, 7: no resources; worker gpu: 1 GPU, 8 MEM)" in said
    assert refused.value.task == "train"


@pytest.mark.parametrize(
    ("client", "waits"),
    [
        (Client(), True),
        (Client([]), False),
        (Client(plan={"a", "b", "c", "d", "e"}), False),
    ],
    ids=["told to wait", "no worker yet", "workers are on their way"],
)
def test_who_may_still_come_is_waited_for_with_one_warning(
    client: Client, waits: bool, logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    supply = Supply(client, logger, waits=waits)
    for _ in range(3):
        supply.check("train", {"TPU": 1}, ())
    (line,) = (r.getMessage() for r in caplog.records if r.levelno >= logging.WARNING)
    assert line.startswith("task 'train' needs 1 TPU, ")


def test_an_adaptive_cluster_may_grow(
    logger: logging.Logger, caplog: pytest.LogCaptureFixture
) -> None:
    client = Client()
    client.cluster._adaptive = object()
    Supply(client, logger).check("train", {"TPU": 1}, ())
    assert "it waits until a worker comes" in caplog.text
    client.cluster._adaptive = None
    with pytest.raises(InfeasibleInstance):
        Supply(client, logger).check("train", {"TPU": 1}, ())


def test_names_are_text_and_many_workers_are_few_words(logger: logging.Logger) -> None:
    crowd = [Offer(f"w{i}", f"tcp://h:{i}", "h", {}) for i in range(500)]
    with pytest.raises(InfeasibleInstance) as refused:
        Supply(Client(crowd), logger).check("\x1b[31mred", {"T\u202ePU": 1}, ["<b>\n"])
    said = str(refused.value)
    assert said.isprintable()
    assert "and 492 more" in said
    assert len(said) < 500


def test_a_scheduler_that_does_not_answer_costs_nothing(logger: logging.Logger) -> None:
    def broken(question: Any) -> Any:
        raise OSError("no answer")

    client = Client()
    answering, client.run_on_scheduler = client.run_on_scheduler, broken  # type: ignore[method-assign]
    supply = Supply(client, logger)
    supply.check("train", {"TPU": 1}, ())
    client.run_on_scheduler = answering  # type: ignore[method-assign]
    with pytest.raises(InfeasibleInstance, match="1 TPU"):
        supply.check("train", {"TPU": 1}, ())


@task
def work() -> int:
    return 1


@pytest.mark.parametrize("mode", ["auto", "observe", "off"])
@pytest.mark.parametrize("how", ["tag", "annotation", "worker"])
def test_a_flow_fails_at_once_instead_of_waiting(cluster: Any, mode: Any, how: str) -> None:
    """On a real cluster, whose workers 0 and 1 have neither TPU nor such a name."""

    def body() -> None:
        if how == "tag":
            work.with_options(tags={"orchestrator:resource.TPU=1"}).submit().wait()
        elif how == "annotation":
            with dask.annotate(resources={"TPU": 1}):
                work.submit().wait()
        else:
            with dask.annotate(workers=["w9"]):
                work.submit().wait()

    runner = OptimizedTaskRunner(cluster=cluster, advisor=Advisor(), mode=mode, report=False)
    with pytest.raises(InfeasibleInstance, match=r"task 'work' needs .*workers 0, 1: "):
        flow(task_runner=runner)(body)()
