"""On which device a task runs, and what it books there."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from orchestrator_core.conductor import devices
from orchestrator_prefect.jax_tasks import memory
from orchestrator_prefect.jax_tasks.admission import Admission


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> dict[str, Admission]:
    """Two devices, and who is admitted to them."""
    made = {"a": Admission(100), "b": Admission(100)}
    monkeypatch.setattr(devices, "here", lambda: ["a", "b"])
    monkeypatch.setattr(memory, "_admissions", made)
    return made


def test_a_task_runs_where_the_fewest_do(two: dict[str, Admission]) -> None:
    assert memory.place_for(((), {})) == memory.Place(("a",), "a")
    with two["a"].admitted(10):
        assert memory.place_for(((), {})) == memory.Place(("b",), "b")


def test_of_idle_devices_the_one_that_has_the_arguments(
    two: dict[str, Admission], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(devices, "on", lambda call, device: {"a": 10, "b": 20}[device])
    assert memory.place_for(((), {})).chosen == "b"


def test_arrays_that_have_to_stay_say_where_it_runs() -> None:
    (device, *_) = jax.devices()
    bound = jax.device_put(jnp.ones(3), device)
    assert memory.place_for(((bound, 3), {})) == memory.Place((device,), None)


def test_a_task_books_its_results_and_what_has_to_get_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    (device, *_) = jax.devices()
    made = {device: Admission(1e9)}
    monkeypatch.setattr(memory, "_admissions", made)
    call: Any = ((np.zeros(256, np.float32), jnp.zeros(256, jnp.float32)), {"name": "text"})
    with memory.Place((device,)).admitted(call, 500):
        assert made[device].booked == 1524, "what is on the device already is counted there"
    assert made[device].booked == 0


def test_its_owner_says_how_much_of_a_device_may_be_used(monkeypatch: pytest.MonkeyPatch) -> None:
    (device, *_) = jax.devices()
    monkeypatch.setattr(memory, "_admissions", {})
    monkeypatch.setenv("ORCHESTRATOR_WORKER_DEVICE_MEMORY", "3 MiB")
    assert memory.admission_to(device).capacity == 3 * 2**20
    monkeypatch.setattr(memory, "_admissions", {})
    monkeypatch.delenv("ORCHESTRATOR_WORKER_DEVICE_MEMORY")
    assert memory.admission_to(device).capacity == float("inf"), "a processor's is the host's"
