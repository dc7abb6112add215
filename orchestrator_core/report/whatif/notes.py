"""What must be said beside an answer to "what if?"."""

from __future__ import annotations

import math
from collections.abc import Iterator

from orchestrator_core import words
from orchestrator_core.graph.finer_kind import plain_kind
from orchestrator_core.report.priced import RunPrices
from orchestrator_core.report.whatif.change import Change


def notes_on(prices: RunPrices, change: Change) -> Iterator[str]:
    """One sentence for each thing that was assumed, or that cannot change anything."""
    cluster = prices.run.cluster
    measured = {plain_kind(worker.kind) for worker in prices.learned.workers}
    for worker in {worker.kind: worker for worker in change.add}.values():
        if plain_kind(worker.kind) not in measured:
            yield (
                f"no task was ever measured on a worker of kind {worker.kind!r}: its speed of "
                f"{worker.speed:g} beside the others' is believed"
            )
        if worker.kind not in cluster.kinds:
            yield f"links to workers of kind {worker.kind!r} are taken to be as the others are"
    if lost := len(prices.lost_with(change.cluster(cluster))):
        yield (
            f"{words.plural(lost, 'output')} computed before the run lay on removed workers alone, "
            "and would have to be made again: no time is reckoned for that"
        )
    if change.memory != 1.0 and all(math.isinf(worker.memory) for worker in cluster.workers):
        yield "no worker of the run states a limit of memory: more of it changes nothing"
