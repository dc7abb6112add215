"""The minimum cut of a network: where it is narrowest between a source and a sink.

L. R. Ford, D. R. Fulkerson, "Maximal flow through a network" (1956); the flow itself is SciPy's.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import breadth_first_order, maximum_flow

ENDLESS = 2**30
"""The capacity of an edge that must not be cut. All others together are to be less than that, since
SciPy counts flows in 32 bits."""


def behind(capacities: Mapping[tuple[int, int], int], source: int, sink: int) -> set[int] | None:
    """The points behind the minimum cut that is nearest to the sink, from which more could flow to
    it when all has flown that can; None if every cut has an edge that must not be cut.

    Args:
        capacities: by edge, from one point to another; points are numbers from 0.
    """
    size = 1 + max(source, sink, max(map(max, capacities), default=0))
    # No more than an endless edge lets through: through several, SciPy would count too far.
    edges = {(size, source): ENDLESS, **capacities}
    tail, head = np.array(list(edges), np.int32).T
    amounts = np.fromiter(edges.values(), np.int32, len(edges))
    network = csr_array((amounts, (tail, head)), shape=(size + 1, size + 1))
    flow = maximum_flow(network, size, sink)
    if flow.flow_value >= ENDLESS:
        return None
    left = network - flow.flow
    left.eliminate_zeros()
    found = breadth_first_order(csr_array(left.T), sink, return_predecessors=False)
    return set(found.tolist())
