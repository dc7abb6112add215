"""What need not be asked before a kernel runs, since it would put rows in doubt.

That a tile changes nothing needs that its values are finite: as it is written, 0 times NaN is NaN.
If some row visits them, its sum is not finite when they are not, and all is done again as it was.
"""

from __future__ import annotations

from orchestrator_core.conductor.facts.axes import Role, roles
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.kernels.live import Watch
from orchestrator_core.conductor.kernels.rows import Rows, finished_of
from orchestrator_core.conductor.tile.accumulators import Accumulator, Summed


def are_told(watch: Watch, rows: Rows) -> bool:
    """Would rows be in doubt if a number that a watch asks for were not finite?"""
    if not watch.visits_all:
        return False
    found = (finished_of(node) for node in rows.checked)
    checked = {does.finish.plan.node for does in found if does is not None}
    pairs = zip(watch.side.accumulators, watch.depends, strict=True)
    return all(not depends or _tells(each, watch.side.inner, checked) for each, depends in pairs)


def _tells(each: Accumulator, inner: Role, checked: set[Node]) -> bool:
    """Is it a sum of exponentials times what is the same in all rows, masked by nothing, so that
    all of that counts in each row that visits it?"""
    if not isinstance(each, Summed) or each.shift is None or each.plan.node not in checked:
        return False
    terms = [term for product in each.plan.products for term in product.terms]
    return all(
        term.kind == "mul"
        and not term.masks
        and (term.is_exponential or roles(term.spec) == {inner})
        for term in terms
    )
