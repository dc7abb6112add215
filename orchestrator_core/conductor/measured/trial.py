"""What a rewrite gains on the GPU that is there: what changes is timed both ways.

What XLA makes of a part of a program depends on what its caches hold and on how it fuses, and what
another one takes on more than is known of it. Nothing may be slower, and where a GPU is at hand
nobody need guess. Where there is none its host's time is not worth it: XLA compiles for seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax

from orchestrator_core.conductor import devices
from orchestrator_core.conductor.cost import peak
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.measured.difference import difference
from orchestrator_core.conductor.measured.timing import Candidate, has_gpu, seconds

MOST = 0.25
"""The part of the device's memory that a trial may take."""


def trial(before: Graph, after: Graph, least: float = 0.0) -> tuple[float, float] | None:
    """Seconds of what differs between two graphs of the same function, as it is in both; None where
    nothing can be timed: there is no GPU, or it has not the memory.

    Args:
        least: that the second takes at least; if the first takes no more, it is not compiled.
    """
    if not has_gpu():
        return None
    was, now = difference(before, after)
    room = devices.memory_of(jax.devices()[0])
    if room is not None and peak(was) > MOST * room:
        return None
    try:
        if least:
            (before_s,) = seconds(_candidate(was))
            return before_s, least if least >= before_s else seconds(_candidate(now))[0]
        before_s, after_s = seconds(_candidate(was), _candidate(now))
    except Exception:  # whatever it is: a trial is no reason to fail
        return None
    return before_s, after_s


def _candidate(graph: Graph) -> Candidate:
    return _function(graph), [value.aval for value in graph.inputs]


def _function(graph: Graph) -> Callable[..., list[Any]]:
    return lambda *arrays: evaluate(graph, arrays)
