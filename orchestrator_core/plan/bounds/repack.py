"""What workers have room for once more, for the checker: plain NumPy, slow, short (stage 3).

Nothing here is shared with the compiled code but the meaning; a test holds them together.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.graph.task_graph import Floats, Ints
from orchestrator_core.plan.bounds.certificate import Packing
from orchestrator_core.plan.bounds.relaxation import Relaxation
from orchestrator_core.plan.bounds.state import State


def held_by_each(
    relaxation: Relaxation, state: State, packing: Packing, end: float
) -> Iterator[int]:
    """The highest price of a set of tasks for which each worker has room until `end` seconds."""
    tasks, prices = np.array(packing.tasks, dtype=np.int64), np.array(packing.prices)
    for b in range(state.may.shape[1]):
        may = state.may[tasks, b]
        each, price = tasks[may], prices[may]
        head, tail, work = state.head[each, b], state.tail[each, b], relaxation.work[0, each, b]
        # All start after the first head and end before their own tails; or the other way round.
        forward = _dearest(price, work, end - head.min(initial=np.inf) - tail)
        backward = _dearest(price, work, end - tail.min(initial=np.inf) - head)
        yield min(forward, backward)


def _dearest(price: Ints, work: Floats, due: Floats) -> int:
    """The highest price of tasks that can be done one after the other, each until it is due."""
    done = np.full(int(price.sum()) + 1, np.inf)
    done[0] = 0.0
    for k in np.argsort(due, kind="stable"):
        end = done[: len(done) - price[k]] + work[k]
        better = np.where(end <= due[k], end, np.inf)
        done[price[k] :] = np.minimum(done[price[k] :], better)
    return int(np.flatnonzero(np.isfinite(done))[-1])
