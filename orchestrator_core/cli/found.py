"""RUN on the command line: a run's id, the beginning of one, or `last`."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator_core.execute.record import RunRecord
    from orchestrator_core.store.base import RunSummary, Store
    from orchestrator_core.store.sql import ScheduleStore

Run = Annotated[
    str,
    typer.Argument(
        metavar="RUN",
        help="A run's id, the beginning of one, or `last` (`last~1`: the one before).",
        show_default=False,
    ),
]
Flow = Annotated[
    str | None, typer.Option(help="With `last`: of this flow, by its name or as file:function.")
]
StoreUrl = Annotated[
    str | None,
    typer.Option("--store", metavar="URL", help="Database; default: `orchestrator db path`."),
]
Json = Annotated[bool, typer.Option("--json", help="JSON instead of text.")]

_LAST = re.compile(r"last(?:~([0-9]{1,6}))?")

COMPARED = 500
"""Newest runs among which names that are near are looked for."""


def open_store(location: str | None) -> ScheduleStore:
    """The database that is asked, which a command leaves as it is even where it is damaged."""
    from orchestrator_core.store.sql import ScheduleStore

    return ScheduleStore(location, mend=False)


def read_store(location: str | None) -> Store:
    """The same for who only reads: where no database was begun, none is begun now either."""
    from orchestrator_core.store.location import is_begun, to_url
    from orchestrator_core.store.memory import MemoryStore

    return open_store(location) if is_begun(to_url(location)) else MemoryStore()


@contextmanager
def reading(location: str | None) -> Iterator[Store]:
    """A database for a command that only reads; who finds no run in it, is told which it was."""
    with closing(read_store(location)) as opened, naming(location):
        yield opened


@contextmanager
def naming(location: str | None) -> Iterator[None]:
    """Whoever looks for a run here and finds none, is told in which database that was."""
    from orchestrator_core.errors import UnknownRun

    try:
        yield
    except UnknownRun as error:
        raise UnknownRun(f"{error} [looked in {searched(location)}]") from None


def place_of(location: str | None) -> str:
    """The database as people may see it: the path of a file, or its URL without the password."""
    from orchestrator_core.errors import StoreError
    from orchestrator_core.store.location import masked, sqlite_path, to_url

    try:
        url = to_url(location)
    except StoreError as error:
        return f"cannot be read: {error}"
    return str(sqlite_path(url) or masked(url))


def searched(location: str | None) -> str:
    """The database in which nothing was found, and whether there is one at all."""
    from orchestrator_core.store.location import is_begun, to_url

    place = place_of(location)
    return place if is_begun(to_url(location)) else f"{place}, where no database is"


def find_run(store: Store, run: str, flow: str | None = None) -> RunRecord:
    """The run that was meant.

    Raises:
        UnknownRun: if there is none, or several begin so; those that are near are named.
    """
    from orchestrator_core.errors import UnknownRun

    last = _LAST.fullmatch(run)
    if last is not None:
        return _last(store, int(last[1] or 0), flow)
    try:
        return store.run(run)
    except UnknownRun as error:
        hint = _near(store, run)
        raise UnknownRun(f"{error}{hint}") from None


def _last(store: Store, back: int, flow: str | None) -> RunRecord:
    from orchestrator_core.cli.flows import runs_of
    from orchestrator_core.errors import UnknownRun

    newest = runs_of(store, flow, back + 1)
    if len(newest) > back:
        _tell_apart(store, newest[back], flow)
        return store.run(newest[back].run_id)
    of = f" of {flow!r}" if flow else ""
    if newest:
        raise UnknownRun(f"only {len(newest)} runs{of} are stored; see `orchestrator runs`")
    raise UnknownRun(
        f"no run{of} is stored yet; run a flow with @optimized_flow, "
        "or look into another database with --store"
    )


def _tell_apart(store: Store, line: RunSummary, flow: str | None) -> None:
    """Whoever asks for a flow by its name, and there are several of that name, is told whose run
    this is."""
    from orchestrator_core.cli.console import remark
    from orchestrator_core.cli.flows import others

    more = others(store, line.flow, line.origin) if flow == line.flow else []
    if more and line.origin:
        remark(
            f"several flows are called {flow!r}; this is a run of {line.origin}: "
            f"choose with --flow, such as --flow {more[0]}"
        )


def _near(store: Store, run: str) -> str:
    """Runs whose id or flow is near to what was asked for, for the end of a message."""
    from orchestrator_core.report.names import near
    from orchestrator_core.words import ago

    if not run:
        return ""
    known = store.runs(limit=COMPARED)
    ids = {line.run_id[: max(8, len(run))]: line for line in reversed(known)}
    flows = {line.flow: line for line in reversed(known)}
    close = [ids[i] for i in near(run, list(ids))] or [flows[f] for f in near(run, list(flows))]
    told = [f"{line.run_id[:8]} ({line.flow}, {ago(line.started_at)})" for line in close]
    return f"; near it: {', '.join(told)}" if told else ""
