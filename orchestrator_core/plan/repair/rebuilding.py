"""From the rest of a run to its new placement: options, pauses, a search (stage 3, repair)."""

from __future__ import annotations

import numpy as np

from orchestrator_core.errors import InfeasibleInstance, PlanningFailed
from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.repair.basis import Basis
from orchestrator_core.plan.repair.choosing import GAIN, Option, steadiest
from orchestrator_core.plan.repair.pausing import pauses
from orchestrator_core.plan.repair.plain import Plain
from orchestrator_core.plan.repair.remains import Remains
from orchestrator_core.plan.repair.rest import WAITING, Sends
from orchestrator_core.plan.repair.stock import with_modes
from orchestrator_core.plan.repair.tight import Tight


def rebuild(
    basis: Basis, remains: Remains, budget: Budget | None
) -> tuple[Remains, Option, float, Sends]:
    """(the rest, perhaps with pauses; its placement; makespan if all had stayed; new transfers).

    Raises:
        InfeasibleInstance: naming the task that can run nowhere.
        PlanningFailed: if memory does not suffice in any order that was tried.
    """
    if basis.consumes:
        remains = with_modes(basis, remains)
    _check_possible(basis, remains)
    placer, options, option = _place(basis, remains)
    kept = options[0]
    for changed in pauses(basis, remains):
        other = _place(basis, changed)
        if other[2].value < option.value * (1 - GAIN):
            (placer, options, option), remains = other, changed
    if budget is not None and (budget.iterations or 0) + budget.seconds > 0:
        option = placer.better(option, options[0], budget)
    sends = option.sends
    if sends is None:
        assert isinstance(placer, Plain)
        sends = placer.sends(option.placed)
    return remains, option, kept.makespan, sends


def _place(basis: Basis, remains: Remains) -> tuple[Plain | Tight, list[Option], Option]:
    placer = Plain(basis, remains) if basis.threads_only else Tight(basis, remains)
    options = placer.options()
    if not options:
        raise PlanningFailed(
            "no order of the remaining tasks was found that fits into the workers' memory; give "
            "more memory or workers, or plan the rest anew"
        )
    return placer, options, steadiest(options)


def _check_possible(basis: Basis, remains: Remains) -> None:
    """Each waiting task may run on some worker that is left."""
    r, p = remains.rest, basis.problem
    if r.alive.all():
        return
    possible = np.isfinite(p.seconds[:, r.alive]).any(axis=1)
    waiting = np.flatnonzero(r.status == WAITING)
    runs = np.logical_or.reduceat(possible, basis.instance.graph.mode_ptr[:-1])[p.task[waiting]]
    if not runs.all():
        unit = int(waiting[np.argmin(runs)])
        names = basis.instance.cluster.names
        left = [name for name, there in zip(names, r.alive, strict=True) if there]
        raise InfeasibleInstance(
            f"{basis.label(unit)} can run on none of the workers that are left: {left}",
            task=basis.instance.graph.names[p.task[unit]],
        )
