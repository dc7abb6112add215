"""A running cluster, asked and steered from outside: what the command line calls."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from orchestrator_core.errors import ClusterError, InvalidInput
from orchestrator_core.execute.dask.client import STOP_SECONDS, ensure_plugin, remove_plugin
from orchestrator_core.execute.dask.greeting import greet, nobody

if TYPE_CHECKING:
    from distributed import Client

CONNECT_SECONDS = 5.0

Answer = dict[str, Any]


@contextmanager
def connect(address: str) -> Iterator[Client]:
    """A client of the scheduler at that address.

    Raises:
        ClusterError: if nobody answers there, or no scheduler.
    """
    from distributed import Client

    asyncio.run(greet(address))
    try:
        client = Client(address, timeout=CONNECT_SECONDS, set_as_default=False)  # type: ignore[no-untyped-call]
    except (OSError, ValueError) as error:
        raise nobody(address) from error
    with client:
        yield client


def status(client: Client) -> Answer:
    """The whole at a glance, as `Status.picture`.

    Raises:
        ClusterError: if the plugin is not there.
    """
    return _ask(client, "status")


def why(client: Client, key: str) -> Answer:
    """What is known about the task of that key, as `why.why`.

    Raises:
        ClusterError: if the plugin is not there. InvalidInput: for an unknown key.
    """
    answer = _ask(client, "why", key=key)
    if "unknown" in answer:
        alike = ", ".join(answer["unknown"])
        hint = f"did you mean {alike}?" if alike else "`gantt --json` lists the keys of a run"
        raise InvalidInput(f"the scheduler has no task {key!r}; {hint}")
    return answer


def gantt(client: Client, run_id: str | None = None) -> Answer:
    """Plan and reality of a run, whole, as `Status.gantt`; None for the newest. With it, the
    ``threads`` of the workers that are there, by name.

    Raises:
        ClusterError: if the plugin is not there. InvalidInput: if there is no such run.
    """
    whole = _gantt(client, run_id, {})
    while _is_cut(whole):
        whole = _gantt(client, whole["run"]["run_id"], whole)
    threads = {worker["name"]: worker["threads"] for worker in status(client)["workers"]}
    return {**whole, "threads": threads}


def enable(client: Client, **options: Any) -> bool:
    """Put the plugin on the scheduler; False if it was there already.

    Raises:
        ClusterError: if the scheduler cannot import it, or could not start it.
    """
    try:
        added = bool(ensure_plugin(client, **options))
    except ImportError as error:
        raise _not_installed(client) from error
    status(client)
    return added


def is_enabled(client: Client) -> bool:
    """Is the plugin on the scheduler, and at work?"""
    return _can_be_asked(client, "status")


def disable(client: Client, timeout: float = STOP_SECONDS) -> bool:
    """Take the plugin off, if it is there; were all runs written within `timeout` seconds?"""
    return not is_enabled(client) or bool(remove_plugin(client, timeout))


def _ask(client: Any, question: str, **arguments: Any) -> Answer:
    if not _can_be_asked(client, question):
        raise ClusterError(
            f"the plugin is not on the scheduler at {_address(client)}; put it there with "
            f"`orchestrator live enable {_address(client)}`"
        )
    answer: Answer = client.sync(_call, client, question, arguments)
    return answer


def _can_be_asked(client: Any, question: str) -> bool:
    return f"orchestrator_{question}" in client.sync(_handlers, client)


async def _handlers(client: Any) -> list[str]:
    """What the scheduler may be asked; it need not have this project to tell."""
    return list(await client.run_on_scheduler(_by_value()))


async def _call(client: Any, question: str, arguments: Mapping[str, Any]) -> Answer:
    answer: Answer = await getattr(client.scheduler, f"orchestrator_{question}")(**arguments)
    return answer


def _by_value() -> Any:
    # A function inside a function is pickled by value.
    def handlers(dask_scheduler: Any) -> list[str]:
        return [str(name) for name in dask_scheduler.handlers]

    return handlers


def _gantt(client: Any, run_id: str | None, known: Answer) -> Answer:
    """What is known and one piece more."""
    rows = {name: known.get(name, []) for name in ("planned", "recorded")}
    counts = {name: len(found) for name, found in rows.items()}
    answer = _ask(client, "gantt", run_id=run_id, version=known.get("version", 0), **counts)
    if "missing" in answer:
        raise InvalidInput(answer["missing"])
    for name, found in rows.items():
        answer[name] = [*found[: answer[f"{name}_from"]], *answer[name]]
    return answer


def _is_cut(answer: Answer) -> bool:
    return any(len(answer[name]) < answer[f"{name}_total"] for name in ("planned", "recorded"))


def _not_installed(client: Client) -> ClusterError:
    return ClusterError(
        f"the scheduler at {_address(client)} cannot import orchestrator_core; install "
        "prefect-orchestrator in its environment too"
    )


def _address(client: Any) -> str:
    return str(client.scheduler.address)
