"""Plans on a few of the workers, as choices for the decoder: for what must not cost much."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.task_graph import Floats
from orchestrator_core.plan.engine.decoder import Choice
from orchestrator_core.plan.objectives.part_leases import between
from orchestrator_core.plan.objectives.renting import Renting

MOST_SUBSETS = 40
"""Beyond, the subsets grow in larger steps."""

AVOID = 1e6
"""Times all the work, added to the end on a worker outside of the subset: it is taken only if
nobody else can. Of much more, ends outside would all be rounded to the same."""


def worker_subsets(instance: Instance) -> Iterator[Choice]:
    """Each task where it is cheapest; then list schedules on the first k workers, from one to all,
    once with the cheapest for their work first, once with the fastest; then what lies between.

    After the subsets of W. Zheng, R. Sakellariou: Budget-deadline constrained workflow planning.
    Journal of Grid Computing 11, 2013; here the decoder chooses within a subset.
    """
    renting = Renting.of(instance)
    order, seconds = renting.order, renting.seconds
    yield Choice(order, worker=renting.cheapest())
    seen: set[frozenset[int]] = set()
    for ranking in renting.rankings:
        w = len(ranking)
        for k in np.unique(np.linspace(1, w, min(w, MOST_SUBSETS)).astype(np.int64)).tolist():
            chosen = frozenset(ranking[:k].tolist())
            if chosen not in seen:
                seen.add(chosen)
                yield Choice(order, ahead=_ahead(seconds, chosen))
    for b in np.argsort(renting.price, kind="stable")[:MOST_SUBSETS].tolist():
        if frozenset([b]) not in seen:
            yield Choice(order, ahead=_ahead(seconds, frozenset([b])))
    yield from between(renting)


def _ahead(seconds: Floats, chosen: frozenset[int]) -> Floats:
    ahead = np.full(seconds.shape, AVOID * (1.0 + float(seconds.min(axis=1).sum())))
    ahead[:, sorted(chosen)] = 0.0
    return ahead
