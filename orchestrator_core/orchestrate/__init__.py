"""The five stages, one after another: graph -> costs -> plan -> execute -> learn.

`Orchestrator` prices a graph with what earlier runs taught, finds or makes a schedule, decides
whether it is worth following, and remembers what then happened. Those who execute (the Dask
plugin, the Prefect runner) see it through the `Advisor` protocol only.
"""

from __future__ import annotations

from orchestrator_core.orchestrate.orchestrator import Orchestrator, advisor_for_store

__all__ = ["Orchestrator", "advisor_for_store"]
