"""Workers that differ by nothing but their names (stage 3)."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import numpy as np

from orchestrator_core.graph.task_graph import Floats


def classes(
    supplies: Sequence[Hashable], seconds: Floats, links: Sequence[Floats]
) -> list[list[int]]:
    """All w workers, in classes of which any two may change places; by their first workers.

    Only workers with the same supply, the same seconds and the same sum of links, bits taken for
    whole numbers, are compared, and each comparison looks at two rows and two columns: of hundreds
    of workers with links of their own, no two are.

    Args:
        supplies: (w,) what else has to be the same. seconds: (rows, w).
        links: (w, w) each, source first.
    """
    found: list[list[int]] = []
    of_signature: dict[Hashable, list[list[int]]] = {}
    # Adding 0 makes a negative zero a zero, which has other bits.
    sums = [(link + 0.0).view(np.uint64).sum(axis=1).tolist() for link in links]
    for worker, supply in enumerate(supplies):
        column = (seconds[:, worker] + 0.0).tobytes()
        signature = supply, column, *(each[worker] for each in sums)
        similar = of_signature.setdefault(signature, [])
        for members in similar:
            if all(_may_swap(link, members[0], worker) for link in links):
                members.append(worker)
                break
        else:
            similar.append([worker])
            found.append(similar[-1])
    return found


def _may_swap(link: Floats, a: int, b: int) -> bool:
    """Is the matrix the same with a and b exchanged? Its diagonal is."""
    same = (link[a] == link[b]) & (link[:, a] == link[:, b])
    same[[a, b]] = link[a, b] == link[b, a]
    return bool(same.all())
