"""Hints by tags, `with_options`, `dask.annotate` and estimates: understood, bound, or refused."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import dask
import pytest
from prefect import flow, tags, task

from orchestrator_core.errors import InvalidInput
from orchestrator_core.execute.dask.graphs.hints import Hint
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.amounts import Amounts
from orchestrator_prefect import OptimizedTaskRunner, optimized_flow
from orchestrator_prefect.sending.flow_graph import kind_of
from orchestrator_prefect.settings.hints import UNSAID, resources_of, submitted_hint, workers_here

from ..conftest import Advisor


@task
def train(x: int = 0) -> str:
    from distributed import get_worker

    return str(get_worker().name)


@task(tags={"orchestrator:release=0.4"})
def late(x: int = 0) -> float:
    return time.time()


def tagged(*found: str) -> Any:
    return train.with_options(tags=set(found))


UNDERSTOOD = [
    ("gpu=1", Hint(resources=Amounts({"GPU": 1}))),
    ("GPU = 0.5", Hint(resources=Amounts({"GPU": 0.5}))),
    ("resource.my TPU=2", Hint(resources=Amounts({"my TPU": 2}))),
    ("seconds=30", Hint(seconds=30.0)),
    ("seconds=2min", Hint(seconds=120.0)),
    ("memory=2GB", Hint(memory=2e9)),
    ("output_bytes=1 MiB", Hint(output_bytes=2.0**20)),
    ("workers=gpu", Hint(workers=("gpu",))),
    ("workers=w1, w2", Hint(workers=("w1", "w2"))),
    ("kind=fit", Hint(kind="fit")),
    ("due=1h", Hint(due=3600.0)),
    ("weight=2.5", Hint(weight=2.5)),
    ("deadline=90s", Hint(deadline=90.0)),
    ("release=0", Hint(release=0.0)),
    ("objective=price,makespan", Hint(objective="price,makespan")),
    ("kind=<img src=x onerror=alert(1)>", Hint(kind="<img src=x onerror=alert(1)>")),
    ("workers='; DROP TABLE runs; --", Hint(workers=("'; DROP TABLE runs; --",))),
]


@pytest.mark.parametrize(("tag", "hint"), UNDERSTOOD, ids=[tag for tag, _ in UNDERSTOOD])
def test_a_tag_says_what_the_annotation_says(tag: str, hint: Hint) -> None:
    assert submitted_hint(tagged(f"orchestrator:{tag}", "nightly", "owner=me")) == hint


REFUSED = [
    ("gpus=1", "there is no hint 'gpus'; there are gpu, resource.NAME, seconds, memory"),
    ("gpu", "expected orchestrator:NAME=VALUE; there are gpu"),
    ("gpu=one", "expected a number >= 0"),
    ("gpu=-1", "must be finite and >= 0"),
    ("gpu=nan", "must be finite and >= 0"),
    ("resource.=1", "a resource is named ''"),
    ("seconds=soon", 'expected seconds >= 0, or text such as "20s"'),
    ("seconds=-3", "expected seconds >= 0"),
    ("seconds=3 oxen", "expected seconds >= 0"),
    ("seconds=5min ± 10s", 'expected seconds >= 0, or text such as "20s"; a spread is taken in'),
    ("memory=2 barrels", 'expected bytes >= 0, or text such as "4 GiB"'),
    ("memory=", "expected bytes >= 0"),
    ("workers=", "expected text of 1 to 1000 characters"),
    ("kind=a\x1b[31mb", "no control characters"),
    ("weight=heavy", "expected a number >= 0"),
    ("objective=speed", "there is no criterion 'speed'; there are makespan"),
    ("=1", "there is no hint ''"),
    ("", "expected orchestrator:NAME=VALUE"),
]


@pytest.mark.parametrize(("tag", "message"), REFUSED, ids=[repr(tag) for tag, _ in REFUSED])
def test_a_wrong_tag_is_refused_naming_task_and_tag(tag: str, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        submitted_hint(tagged(f"orchestrator:{tag}"))
    said = str(refused.value)
    assert message in said
    assert said.startswith("task 'train': tag 'orchestrator:")
    assert said.isprintable(), "what is quoted steers no terminal"


def test_tags_that_contradict_each_other_are_refused() -> None:
    with pytest.raises(InvalidInput, match="another tag says something else of seconds"):
        submitted_hint(tagged("orchestrator:seconds=1", "orchestrator:seconds=2"))


def test_of_one_word_the_nearest_counts_and_resources_add_up() -> None:
    """`dask.annotate`, the task's tags, `prefect.tags`, the flow's estimates."""
    estimate = Hint(seconds=4, memory=4, weight=4, due=4, resources=Amounts({"D": 4}))
    annotation = {"seconds": 1, "resources": {"A": 1, "B": 1}}
    own = ("orchestrator:seconds=2", "orchestrator:memory=2", "orchestrator:resource.B=2")
    around = ("orchestrator:seconds=3", "orchestrator:memory=3", "orchestrator:weight=3")
    with tags(*around, "orchestrator:resource.C=3"), dask.annotate(orchestrator=annotation):
        hint = submitted_hint(tagged(*own), estimate)
    assert (hint.seconds, hint.memory, hint.weight, hint.due) == (1, 2, 3, 4)
    assert hint.resources == {"A": 1, "B": 1, "C": 3, "D": 4}
    assert submitted_hint(tagged("nightly")) is UNSAID


def test_wrong_annotations_are_refused_too() -> None:
    with (
        dask.annotate(orchestrator={"second": 1}),
        pytest.raises(InvalidInput, match=r"'train': dask.annotate\(orch.* no hint 'second'"),
    ):
        submitted_hint(train)


def test_what_a_worker_must_have_and_be_called() -> None:
    hint = Hint(resources=Amounts({"GPU": 1}))
    with dask.annotate(resources={"TPU": 2, "GPU": 3}, workers=["w1"]):
        assert resources_of(hint) == {"TPU": 2, "GPU": 1.0}
        assert workers_here() == ["w1"]
    with dask.annotate(workers=["w1"], allow_other_workers=True):
        assert workers_here() == ()
    with dask.annotate(resources=lambda key: {}, workers=lambda key: []):
        assert resources_of(hint) == {"GPU": 1.0}
        assert workers_here() == ()


@pytest.fixture
def gpu(cluster: Any) -> Iterator[Any]:
    """The cluster; its worker 1 has a GPU."""

    async def give(amount: int) -> None:
        await cluster.workers[1].set_resources(GPU=amount)

    cluster.sync(give, 1)
    yield cluster
    cluster.sync(give, 0)


def special() -> list[str]:
    futures = [tagged("orchestrator:gpu=1").submit(i) for i in range(4)]
    return [future.result() for future in futures]


SLOW = [pytest.param(mode, marks=pytest.mark.slow) for mode in ("director", "restrict", "off")]


@pytest.mark.parametrize("mode", ["auto", "observe", *SLOW])
def test_a_tagged_task_runs_where_the_gpu_is(gpu: Any, mode: Any) -> None:
    """The plan of the second run, where there is one, wants all tasks on worker 0."""
    advisor = Advisor("0")
    runner = OptimizedTaskRunner(cluster=gpu, advisor=advisor, mode=mode, report=False)
    made = flow(task_runner=runner)(special)
    assert [made(), made()] == [["1"] * 4] * 2
    if mode == "off":
        assert advisor.runs == []
        return
    assert [run.graph.task("train-0").resources for run in advisor.runs] == [{"GPU": 1.0}] * 2
    assert (advisor.runs[-1].plan is None) == (mode == "observe")


def test_workers_of_a_hint_count_from_the_first_run_on(cluster: Any) -> None:
    """Nothing is planned yet; by themselves tasks go to both workers."""
    advisor = Advisor("0")

    def body() -> list[str]:
        futures = [tagged("orchestrator:workers=1").submit(i) for i in range(6)]
        return [future.result() for future in futures]

    made = flow(task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False))
    assert made(body)() == ["1"] * 6
    assert advisor.runs[-1].plan is None


def observed(cluster: Any, body: Any, **options: Any) -> RunRecord:
    advisor = Advisor()
    made = optimized_flow(
        task_runner=OptimizedTaskRunner(cluster=cluster, advisor=advisor, report=False), **options
    )(body)
    made()
    return advisor.runs[-1]


def test_hints_reach_the_graph(cluster: Any) -> None:
    def body() -> None:
        hinted = tagged("orchestrator:seconds=30", "orchestrator:memory=2GB", "orchestrator:due=9")
        with tags("orchestrator:workers=fast, 1"):
            first = hinted.submit()
        with dask.annotate(orchestrator={"kind": "fit", "output_bytes": 7, "deadline": 8}):
            second = train.submit()
        with dask.annotate(workers=[0]), tags("orchestrator:workers=1"):
            pinned = train.submit()
        for future in (first, second, pinned):
            future.wait()

    graph = observed(cluster, body, estimates={"train": {"seconds": "5s", "memory": 11}}).graph
    first, second, pinned = (graph.task(f"train-{i}") for i in range(3))
    assert (first.seconds, first.memory, first.due) == (30.0, 2e9, 9.0)
    assert first.eligible == ("1", "fast")
    assert first.kind == kind_of(train)
    assert (second.kind, second.output_bytes, second.deadline) == ("fit", 7.0, 8.0)
    assert (second.seconds, second.memory) == (5.0, 11.0)
    assert pinned.eligible == ("0",), "a pin comes before a hint"


def test_a_wrong_hint_fails_the_flow_before_the_task_runs(cluster: Any, tmp_path: Any) -> None:
    ran = tmp_path / "ran"

    @task(tags={"orchestrator:gpus=1"})
    def never() -> None:
        ran.touch()

    def body() -> None:
        never.submit().wait()

    for mode in ("observe", "off"):
        runner = OptimizedTaskRunner(cluster=cluster, advisor=Advisor(), mode=mode)
        with pytest.raises(InvalidInput, match="task 'never': tag 'orchestrator:gpus=1'"):
            flow(task_runner=runner)(body)()
    assert not ran.exists()


def test_a_task_does_not_begin_before_its_release(cluster: Any) -> None:
    """Neither in the first run, nor where a plan places it."""
    advisor = Advisor("0")

    def body() -> list[float]:
        submitted = time.time()
        futures = [late.submit(i) for i in range(6)]
        return [future.result() - submitted for future in futures]

    runner = OptimizedTaskRunner(cluster=cluster, advisor=advisor, mode="director", report=False)
    made = flow(task_runner=runner)(body)
    assert min(*made(), *made()) >= 0.4
    assert [run.plan is None for run in advisor.runs] == [True, False]
