"""Asking for a trace: it happens in a process of its own, which is thrown away.

Nothing here needs Prefect, which takes seconds to import.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from orchestrator_core.costs.stated import StatedCosts
from orchestrator_core.errors import InvalidInput, UnknownFlow
from orchestrator_core.execute.record import Burst
from orchestrator_core.graph.task_graph import TaskGraph

CHILD = "orchestrator_prefect.tracing"

SECONDS = 10.0
"""That the flow's body may take. A task's `submit` takes about 0.1 ms there."""

LOADING_SECONDS = 120.0
"""That Prefect and the flow's module may take to be imported."""


@dataclass(frozen=True, slots=True)
class Traced:
    """A flow that was followed, not run.

    Attributes:
        flow: its name. graph: as a run would have recorded it.
        bursts: what it submits in one go, in order.
        inline: how often it calls which tasks and flows itself: they are no part of the graph.
        stated: what its decorator and tags say of its tasks.
    """

    flow: str
    graph: TaskGraph
    bursts: tuple[Burst, ...]
    inline: Mapping[str, int]
    stated: StatedCosts


def trace_flow(
    source: str, attribute: str, parameters: Mapping[str, Any], *, seconds: float = SECONDS
) -> Traced:
    """Follow a flow.

    Args:
        source: path of a Python file, or dotted name of a module. attribute: the flow in it; empty
            for the only one. parameters: of the flow, as JSON has them.

    Raises:
        UnknownFlow: if there is none by that name.
        InvalidInput: if it cannot be followed, with the line and the reason.
    """
    request = {
        "source": source,
        "attribute": attribute,
        "parameters": dict(parameters),
        "seconds": seconds,
    }
    answer = _answer(json.dumps(request), seconds)
    if "refused" in answer:
        raise (UnknownFlow if answer["no_flow"] else InvalidInput)(answer["refused"])
    return Traced(
        flow=answer["flow"],
        graph=TaskGraph.from_json(answer["graph"]),
        bursts=tuple(Burst(size, tuple(after)) for size, after in answer["bursts"]),
        inline=answer["inline"],
        stated=StatedCosts(answer["spread"]),
    )


def _answer(request: str, seconds: float) -> dict[str, Any]:
    # Without -P, a file here called as a package that Prefect needs would take its place.
    command = [sys.executable, "-P", "-m", CHILD]
    try:
        done = subprocess.run(
            command,
            input=request.encode(),
            stdout=subprocess.PIPE,
            timeout=LOADING_SECONDS + 2 * seconds,
            env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1"},
            check=False,
        )
    except subprocess.TimeoutExpired:
        raise InvalidInput(f"importing it took more than {LOADING_SECONDS:g} s") from None
    if done.returncode == -signal.SIGALRM:
        raise InvalidInput(
            f"one call in it was still going after {2 * seconds:g} s; give it less to do"
        )
    try:
        found: dict[str, Any] = json.loads(done.stdout)
    except ValueError:
        raise InvalidInput(
            f"the process that follows it ended with {done.returncode} and no answer"
        ) from None
    return found
