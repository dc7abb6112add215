"""From the rest of a run to its new placement: options, pauses, a search (stage 3, repair)."""

from __future__ import annotations

import math

from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.blocking import impossible, without
from orchestrator_core.plan.repair.choosing import Option, steadiest, worthwhile
from orchestrator_core.plan.repair.pausing import pauses
from orchestrator_core.plan.repair.plain import Plain
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import Sends
from orchestrator_core.plan.repair.stock import with_modes
from orchestrator_core.plan.repair.tight import Tight


def rebuild(
    basis: Basis, remains: Remains, budget: Budget | None
) -> tuple[Remains, Option, float, Sends]:
    """(the rest, perhaps with pauses; its placement; makespan if all had stayed; new transfers).

    What cannot run as things are is blocked in the rest that is returned.
    """
    remains = without(basis, remains, impossible(basis, remains))
    if basis.consumes:
        remains = with_modes(basis, remains)
    placer, options = _place(basis, remains)
    if not options:
        remains, placer, options = _some(basis, remains, placer)
    option, kept = steadiest(options), options[0]
    for changed in pauses(basis, remains):
        other, others = _place(basis, changed)
        if others and worthwhile(best := steadiest(others), option):
            placer, options, option, remains = other, others, best, changed
    if budget is not None and (budget.iterations or 0) + budget.seconds > 0:
        option = placer.better(option, options[0], budget)
    sends = option.sends
    if sends is None:
        assert isinstance(placer, Plain)
        sends = placer.sends(option.placed)
    return remains, option, kept.makespan if kept.stays else math.inf, sends


def _place(basis: Basis, remains: Remains) -> tuple[Plain | Tight, list[Option]]:
    placer = Plain(basis, remains) if basis.threads_only else Tight(basis, remains)
    return placer, placer.options()


def _some(
    basis: Basis, remains: Remains, placer: Plain | Tight
) -> tuple[Remains, Tight, list[Option]]:
    """What fits, where no order was found in which all fits into memory: as it was planned, if it
    fits so."""
    assert isinstance(placer, Tight)
    option, unplaced = placer.partial()
    remains = without(basis, remains, unplaced)
    fewer = Tight(basis, remains)
    return remains, fewer, [*fewer.options(), option]
