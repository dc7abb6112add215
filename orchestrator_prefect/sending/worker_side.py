"""What runs on workers: Dask learns how large Prefect's results are, and how tasks ended.

To Dask, the output of a Prefect task is a `State` of 80 bytes that is never an error. Here its real
size is measured, a state other than Completed is told to the scheduler, and so is how long a task's
own code ran (`work_clock.py`). What Prefect makes anew for each task is made once (`made_once.py`).
All of it is shipped by value: workers need Prefect, but nothing of this project.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from orchestrator_core.execute.dask.workers.noting import WORK
from orchestrator_core.execute.dask.workers.on_workers import install_on_workers
from orchestrator_prefect.sending.made_once import remember_certificates, remember_settings
from orchestrator_prefect.sending.warm_up import begin_warming
from orchestrator_prefect.sending.work_clock import listen_to_engine, tell_work

PATIENCE = 2.0
"""Seconds for which the end of a flow waits for its workers to say what they still run."""

NAME = "orchestrator-prefect"
"""Of the plugin on the workers, and of the topic of its events."""


def install(client: Any) -> None:
    """Install it on all workers of the client's cluster, also those that join later."""
    told = (tell_states(NAME), tell_work(WORK))
    install_on_workers(client, NAME, on_setup=measure_states(*_once()), on_output=told)


def warm_up(client: Any, settings: Mapping[str, Any]) -> None:
    """Begin to get all workers of the client's cluster ready for Prefect; returns at once.

    `settings` are the arguments of the `SettingsContext` that its tasks will run in.
    """
    begin_warming(client, settings, *_once())


def _once() -> tuple[Callable[[], None], ...]:
    """What is done to Prefect in each worker; doing it again changes nothing."""
    return remember_settings(), remember_certificates(), listen_to_engine()


def fetch_states(client: Any, keys: Iterable[str]) -> Mapping[str, str]:
    """Names of the states, other than Completed, in which these tasks ended, by key."""
    wanted = set(keys)
    events: Any = client.get_events(NAME) or ()
    return {event["key"]: event["state"] for _, event in events if event["key"] in wanted}


def fetch_running(client: Any, keys: Iterable[str]) -> Mapping[str, tuple[str, float]]:
    """Which of these tasks run now: by key, the worker's name and for how many seconds.

    A worker that does not answer within `PATIENCE` is not waited for.
    """
    found = client.sync(
        client._run,
        tell_running(frozenset(keys)),
        on_error="ignore",
        callback_timeout=PATIENCE,
    )
    return {key: running for told in found.values() for key, running in (told or {}).items()}


# Each is a function inside a function, because only such a one is always pickled by value.


def measure_states(*once: Callable[[], None]) -> Callable[[Any], None]:
    """For a worker's setup: `dask.sizeof` looks into states, result records and JAX's arrays.

    Each of `once` is called when it meets the first of Prefect's objects; what fails is left out.
    """

    def setup(worker: Any) -> None:
        import contextlib
        import sys

        sizeof = sys.modules["dask.sizeof"].sizeof

        def register() -> None:
            from prefect.client.schemas.objects import State
            from prefect.results import ResultRecord  # type: ignore[attr-defined]

            sizeof.register(State, lambda state: 1000 + sizeof(state.data))
            sizeof.register(ResultRecord, lambda record: 1000 + sizeof(record.result))
            for step in once:
                with contextlib.suppress(Exception):
                    step()

        def register_arrays() -> None:
            sizeof.register(sys.modules["jax"].Array, lambda array: 100 + int(array.nbytes))

        # Arrays of JAX and its random keys, whose classes are at home in two places.
        sizeof.register_lazy("jaxlib", register_arrays)
        sizeof.register_lazy("jax", register_arrays)

        # Prefect takes seconds to import, so it waits until the first of its objects is met.
        if "prefect.results" in sys.modules:
            register()
        else:
            sizeof.register_lazy("prefect", register)

    return setup


def tell_running(keys: frozenset[str]) -> Callable[..., Mapping[str, tuple[str, float]]]:
    """Of a worker: which of these tasks it runs; also those that were released meanwhile, since a
    thread that runs cannot be stopped."""

    def running(dask_worker: Any) -> Mapping[str, tuple[str, float]]:
        import time

        now, known = time.time(), dask_worker.state.tasks
        begun = {key: known[key].start_time for key in keys if key in known}
        ended = {key for key in begun if known[key].stop_time is not None}
        return {
            key: (str(dask_worker.name), max(0.0, now - start))
            for key, start in begun.items()
            if start is not None and key not in ended
        }

    return running


def tell_states(topic: str) -> Callable[[Any, str, Any], None]:
    """For each finished task: an event, if it gave a state that is not Completed."""

    def finished(worker: Any, key: str, value: Any) -> None:
        name = getattr(value, "name", None)
        if type(value).__name__ == "State" and isinstance(name, str) and name != "Completed":
            worker.log_event(topic, {"key": key, "state": name})

    return finished
