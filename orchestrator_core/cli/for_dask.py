"""`dask orchestrator ...`: Dask's command line hands everything on to ours.

Whoever types `dask` means a cluster: what `orchestrator` calls ``live status`` is ``status`` here,
and ``why`` asks the cluster at work, not a recorded run.
"""

from __future__ import annotations

import sys

import click


@click.command(
    "orchestrator",
    short_help="See, steer, plan and report runs with Orchestrator.",
    add_help_option=False,
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
def dask_command(arguments: tuple[str, ...]) -> None:
    """See, steer, plan and report runs with Orchestrator; see `dask orchestrator --help`."""
    from orchestrator_core.cli.app import run

    sys.exit(run(arguments, name="dask orchestrator", live_first=True))
