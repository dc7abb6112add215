"""Flows of JAX tasks on real worker processes: values, what is compiled, booked, handed on."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import dask
import jax
import jax.numpy as jnp
import numpy as np
import pytest
from distributed import Client, LocalCluster
from prefect import task
from prefect.context import TaskRunContext

from orchestrator_core import ScheduleStore
from orchestrator_prefect import jax_task, optimized_flow
from tests.orchestrator_prefect.conftest import Advisor

BUDGET = 300_000
"""Bytes of each device; one call of `attention` below takes more than half of it."""


@pytest.fixture(scope="module")
def workers(prefect_server: None, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Two processes with two threads and one device each."""
    environment = {
        "JAX_PLATFORMS": "cpu",
        "ORCHESTRATOR_WORKER_DEVICE_MEMORY": str(BUDGET),
        "ORCHESTRATOR_PLAN_CACHE": str(tmp_path_factory.mktemp("plans")),
    }
    with LocalCluster(
        n_workers=2, threads_per_worker=2, dashboard_address=":0", env=environment
    ) as made:
        yield made


@pytest.fixture
def client(workers: Any) -> Iterator[Any]:
    with Client(workers, set_as_default=False) as made:
        yield made


@jax_task(retries=2, tags=["jax"])
def attention(q: Any, k: Any, v: Any, name: str = "") -> Any:
    return jax.nn.softmax(q @ k.T / 8) @ v


@task
@jax.jit
def twice(x: Any) -> Any:
    return 2 * x


@task(name="one more")
@jax_task(memory="1GiB")
def below(x: Any) -> Any:
    return x + 1


@jax_task
@task(retries=1)
def above(x: Any) -> Any:
    return x + 2


@jax_task
def branches(x: Any) -> Any:
    if x.sum() > 0:
        return {"positive": x}
    return {"negative": x}


@jax_task(retries=1, retry_delay_seconds=0)
def fails_at_first(x: Any, attempts: Any) -> Any:
    context = TaskRunContext.get()
    assert context is not None
    if context.task_run.run_count == 1:
        raise RuntimeError("not yet")
    return x * 3


def compiled(of: str) -> list[int]:
    """In a worker: how many combinations it has compiled of the functions of that name."""
    from orchestrator_prefect.jax_tasks import process

    known = process._functions.values()
    return [each.ahead().compiled for each in known if vars(each)["__name__"] == of]


def booked() -> tuple[float, int]:
    """In a worker: what its device has, and the most that was booked of it at once."""
    from orchestrator_prefect.jax_tasks import memory

    (admission,) = memory._admissions.values()
    return admission.capacity, admission.most


def qkv(length: int = 128) -> list[np.ndarray]:
    random = np.random.default_rng(0)
    return [random.normal(size=(length, 64)).astype(np.float32) for _ in range(3)]


def test_values_are_those_of_the_functions_and_prefects_features_stay(workers: Any) -> None:
    @optimized_flow(cluster=workers, mode="observe", report=False)
    def main() -> Any:
        q, k, v = qkv()
        first = attention.submit(q, k, v, name="head")
        second = twice.with_options(name="doubled").submit(first)
        states = [below.submit(second, return_state=True), above.submit(second, return_state=True)]
        mapped = twice.map([first, second])
        which = branches.submit(first)
        again = fails_at_first.submit(first, None)
        results = [future.result() for future in (first, second, which, again)]
        return *results, [state.result() for state in states], states[0].name, mapped.result()

    first, second, which, again, (one_more, two_more), state, mapped = main()
    q, k, v = qkv()
    expected = np.asarray(jax.nn.softmax(jnp.asarray(q) @ k.T / 8) @ v)
    np.testing.assert_allclose(first, expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(second, 2 * first)
    np.testing.assert_array_equal(one_more, 2 * first + 1)
    np.testing.assert_array_equal(two_more, 2 * first + 2)
    assert state == "Completed"
    np.testing.assert_array_equal(mapped[1], 4 * first)
    assert list(which) == ["positive" if float(first.sum()) > 0 else "negative"]
    np.testing.assert_array_equal(again, 3 * first)


def test_a_process_compiles_a_kind_once_and_that_is_not_learned(
    workers: Any, client: Any, advisor: Advisor, tmp_path: Path
) -> None:
    @jax_task
    def energy(x: Any) -> Any:
        return jnp.sum(jnp.tanh(x @ x.T))

    @optimized_flow(
        cluster=workers, mode="observe", report=False, store=str(tmp_path / "learned.db")
    )
    def main() -> list[float]:
        values = [np.full((32, 32), i, np.float32) for i in range(8)]
        return [float(each) for each in energy.map(values).result()]

    expected = [float(np.sum(np.tanh(np.full((32, 32), 32.0 * i * i)))) for i in range(8)]
    assert main() == pytest.approx(expected, rel=1e-6)
    assert main() == pytest.approx(expected, rel=1e-6)
    counts = [each for found in client.run(compiled, "energy").values() for each in found]
    assert counts in ([1], [1, 1]), "once in each process, over both runs"

    store = ScheduleStore(str(tmp_path / "learned.db"))
    runs = [store.run(summary.run_id) for summary in reversed(store.runs())]
    records = [record for run in runs for record in run.tasks]
    kind = records[0].kind
    learned = {(o.run_id, o.task): o for o in store.observations([kind])}
    store.close()
    assert len(records) == len(learned) == 16
    for run in runs:
        for record in run.tasks:
            told = learned[run.run_id, record.task]
            assert record.seconds >= record.setup_seconds > 0, "the record keeps the whole time"
            assert told.seconds == pytest.approx(record.seconds - record.setup_seconds, abs=1e-9)
            assert record.device_memory == told.device_memory
            assert 4096 <= record.device_memory <= 20_000, "a matrix of 4 kB, and what it takes"


def test_tasks_never_book_more_of_a_device_than_it_has(workers: Any, client: Any) -> None:
    @optimized_flow(cluster=workers, mode="observe", report=False)
    def main() -> list[float]:
        q, k, v = qkv()
        heads = [attention.submit(q * i, k, v) for i in range(12)]
        return [float(jnp.sum(head.result())) for head in heads]

    assert len(main()) == 12
    for capacity, most in client.run(booked).values():
        assert capacity == BUDGET
        assert BUDGET / 2 < most <= BUDGET, "one of them takes more than half: never two"


@jax_task
def of_every_type(seed: Any) -> dict[str, Any]:
    x = jax.random.normal(jax.random.key(seed), (3, 5))
    types = ("float32", "bfloat16", "float8_e4m3fn", "int4", "float16", "int8")
    made = {name: (4 * x).astype(getattr(jnp, name)) for name in types}
    return {**made, "keys": jax.random.split(jax.random.key(seed), 2)}


@task
def as_bytes(made: dict[str, Any]) -> tuple[int, dict[str, tuple[str, bytes]]]:
    """And in which process."""
    import os

    keys = jax.random.key_data(made["keys"])
    plain = {**made, "keys": keys}
    return os.getpid(), {
        name: (str(each.dtype), np.asarray(each).tobytes()) for name, each in plain.items()
    }


@task
def place(made: dict[str, Any]) -> tuple[int, int]:
    """In which process, and where in its memory, an array is."""
    import os

    return os.getpid(), made["float32"].unsafe_buffer_pointer()


def test_arrays_are_bit_exact_across_workers_and_the_same_ones_on_one(workers: Any) -> None:
    @optimized_flow(cluster=workers, mode="observe", report=False)
    def main() -> Any:
        with dask.annotate(workers=[0]):
            made = of_every_type.submit(3)
            near = [place.submit(made).result() for _ in range(2)]
            here = as_bytes.submit(made).result()
        with dask.annotate(workers=[1]):
            there = as_bytes.submit(made).result()
        return near, here, there, as_bytes.fn(made.result())

    near, here, there, in_the_flow = main()
    assert near[0] == near[1], "the same memory for both"
    assert len({near[0][0], there[0], in_the_flow[0]}) == 3, "three processes"
    assert here[0] == near[0][0]
    assert here[1] == there[1] == in_the_flow[1]
    assert here[1]["bfloat16"][0] == "bfloat16"


def test_workers_let_jax_take_memory_as_it_needs_it(client: Any) -> None:
    def setting() -> str | None:
        import os

        return os.environ.get("XLA_PYTHON_CLIENT_PREALLOCATE")

    assert "false" in client.run(setting).values()
