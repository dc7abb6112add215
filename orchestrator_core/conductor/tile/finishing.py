"""From what passes accumulate to the values of a region that the rest of the graph reads."""

from __future__ import annotations

from orchestrator_core.conductor.ir.alike import Shared
from orchestrator_core.conductor.ir.node import Node
from orchestrator_core.conductor.ir.value import Value
from orchestrator_core.conductor.tile.accumulators import Accumulator
from orchestrator_core.conductor.tile.candidate import Candidate
from orchestrator_core.conductor.tile.careful import plain_runner
from orchestrator_core.conductor.tile.doubt import is_safe
from orchestrator_core.conductor.tile.finish import Finish, shift_of
from orchestrator_core.conductor.tile.finished import finished
from orchestrator_core.conductor.tile.form import Form
from orchestrator_core.conductor.tile.passes import Pass, pass_as_it_is
from orchestrator_core.conductor.tile.plans import Plan
from orchestrator_core.conductor.tile.run import Runner


def finish_nodes(
    candidate: Candidate, form: Form, passes: dict[int, Node], shared: Shared
) -> list[Node]:
    """One for each boundary and for each value that is stored; what looks the same is shared."""
    plans = candidate.levels.plans
    where = {level: _Where(one, passes[level]) for level, one in candidate.passes.items()}
    made = [_sum_of(candidate, form, plan, where[plan.level], shared) for plan in plans.values()]
    for value, level in candidate.levels.stores.items():
        stored = where[level].value(value)
        made.append(Node("tiled_store", (stored,), (value,), list))
    return made


def _sum_of(candidate: Candidate, form: Form, plan: Plan, where: _Where, shared: Shared) -> Node:
    region, plans = candidate.region, candidate.levels.plans
    finish = Finish.of(region.flow, plan, region.length)
    if not plan.products:
        return shared.of(finished(finish, (where.value(plan.node),), None), finish)
    source = plans[plan.exchange.source] if plan.exchange is not None else plan
    shift = shift_of(source)
    held = [where.value(source.node)] + ([where.held(shift)] if shift is not None else [])
    if plan.exchange is not None and plan.exchange.sole is not None:
        held.append(where.value(plan.exchange.sole.total))
    alone = None if is_safe(plan) else _as_it_is(candidate, form, plan)
    return shared.of(finished(finish, tuple(held), alone), finish, alone)


def _as_it_is(candidate: Candidate, form: Form, plan: Plan) -> Runner:
    """What sums a boundary alone, in tiles of one size if the axes have a divisor that will do.
    They are smaller if they may be, since it seldom runs, and what it needs is set apart all the
    time."""
    may_share = candidate.passes[plan.level].may_share
    one = pass_as_it_is(candidate.region, candidate.levels, plan, may_share)
    if one.compares:
        return plain_runner(one, form.passes[plan.level].size)
    return plain_runner(one, {role: -(-size // 2) for role, size in form.size.items()})


class _Where:
    """Which outputs of a pass hold what."""

    def __init__(self, one: Pass, node: Node) -> None:
        self._of = dict(zip(one.accumulators, node.outputs, strict=True))
        self._one = one

    def value(self, key: Node | Value) -> Value:
        return self._of[self._one.of[key]]

    def held(self, accumulator: Accumulator) -> Value:
        return self._of[accumulator]
