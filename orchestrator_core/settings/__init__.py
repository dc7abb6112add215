"""Settings, and the one order in which they are looked for.

From the nearest to the farthest; the first that says something counts:

    call            options of the command line, and arguments of `OptimizedTaskRunner`, as in
                    ``flow.with_options(task_runner=...)``
    decorator       arguments of `@optimized_flow`
    environment     ``ORCHESTRATOR_OBJECTIVE``; the database is ``ORCHESTRATOR_DB``
    Dask            ``orchestrator.objective`` in Dask's configuration
    Prefect         the variable ``orchestrator_objective``, or the Secret block that it names
    pyproject       ``objective`` under ``[tool.orchestrator]`` in the nearest ``pyproject.toml``
    default

One exception: ``ORCHESTRATOR_MODE`` beats the code, so that whoever runs a flow can switch planning
off without touching it. A wrong argument is refused where it is given; a wrong value from elsewhere
is told once and passed over.

`setting` says what a setting is, `known` which there are, `source` and its neighbours where they
come from, `found` which of them wins. `dask_policy` is not ours: how Dask's own scheduler is set.
"""

from __future__ import annotations

from orchestrator_core.settings.found import Found, find, refused
from orchestrator_core.settings.known import SETTINGS
from orchestrator_core.settings.setting import LEVELS, Level, Setting, checked, checked_in_code
from orchestrator_core.settings.source import Source, Stated

__all__ = [
    "LEVELS",
    "SETTINGS",
    "Found",
    "Level",
    "Setting",
    "Source",
    "Stated",
    "checked",
    "checked_in_code",
    "find",
    "refused",
]
