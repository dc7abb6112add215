"""`orchestrator doctor`: is everything here that a planned run needs?"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from orchestrator_core.cli.health.check import Check


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Import Prefect's server too.")] = False,
    db: Annotated[
        str | None, typer.Option("--db", "--store", metavar="URL", help="Database to look at.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="JSON instead of a list.")] = False,
) -> None:
    """Check the installation, and say how to mend it.

    Exits with 1 if something must be mended.
    """
    from orchestrator_core.cli.console import working
    from orchestrator_core.cli.health.show import finish

    with working("looking at everything"):
        checks = list(_examine(deep, db))
    finish(checks, as_json)


def _examine(deep: bool, db: str | None) -> Iterator[Check]:
    from orchestrator_core.cli.health import (
        dask_links,
        database,
        installed,
        jax_devices,
        prefect_server,
        solver,
        variables,
    )

    yield installed.check_python()
    yield from installed.check_packages()
    yield _guarded("Prefect server", lambda: prefect_server.check_prefect_server(deep))
    yield _guarded("solver", solver.check_solver)
    yield _guarded("compiled code", solver.check_compiled_cache)
    yield from variables.check_variables()
    yield from _all_guarded("settings", variables.check_names)
    yield from _all_guarded("settings", variables.check_values)
    yield from database.check_database(db)
    yield _guarded("Dask's links", dask_links.check_dask_links)
    yield _guarded("JAX", jax_devices.check_jax)


def _guarded(name: str, look: Callable[[], Check]) -> Check:
    """The check; what breaks while looking is what is not well."""
    (check,) = _all_guarded(name, lambda: [look()])
    return check


def _all_guarded(name: str, look: Callable[[], list[Check]]) -> list[Check]:
    from orchestrator_core.cli.health.check import bad

    try:
        return look()
    except Exception as error:
        mend = "type, in the folder of its source: pip install --force-reinstall ."
        return [bad(name, f"could not be looked at: {type(error).__name__}: {error}", mend)]
