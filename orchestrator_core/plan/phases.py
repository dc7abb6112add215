"""Who works when: a matter of the instance's size and shape (stage 3)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import UnsupportedInstance
from orchestrator_core.plan.bounds.cuts.refuter import MOST_TASKS
from orchestrator_core.plan.cpsat.kinds import kinds_of
from orchestrator_core.plan.crew.agenda import Agenda, Phase
from orchestrator_core.plan.engine.decoder import only_threads
from orchestrator_core.plan.engine.expand import expand
from orchestrator_core.plan.planner import Planner
from orchestrator_core.plan.search.lane_heat import transfer_share

WHOLE = 600
"""Most choices of a worker for which CP-SAT is given the instance as a whole; beyond, it was
measured to find and prove less than windows and linear programs do in the same time."""

LARGEST_WHOLE = 1_000
"""Most task instances for which interchangeable workers are looked for."""

NARROW = 8
"""Most producers, or consumers, of a task for which exact sub-graphs say something; where choices
are few it is twice as many."""

FIRST_BOUNDS = 0.1
"""Part of the time in which the bounds have the helper for themselves: what they exclude makes
everything after them smaller."""

RISING_BOUNDS = 0.4
"""The same where they rise all that time and no exact sub-graphs wait (decision 0070)."""

EXACT_FIRST = 0.4
"""Part of the time until which CP-SAT's search of the whole waits where exact sub-graphs, which end
with the whole too, are tried: with one thread and what bounds have found out they were measured to
prove most instances of up to 50 tasks in two seconds, and several threads would be in their way."""

SHARES = {"cpsat": 0.1, "bounds": 0.4, "windows": 0.4, "sub-dags": 0.8}
"""Parts of the time after that. The threads of CP-SAT and of sub-graphs go on between their turns,
in which they only say what they have found."""

LONG_TRANSFERS = 2.0
"""Mean durations of a task that a mean transfer takes, from which it says more which edges are cut
than what wide parts of the graph take."""

SHARES_OF_LONG = {**SHARES, "bounds": 0.8, "sub-dags": 0.4}
"""The same where transfers are long (decision 0066)."""

FEW = 1_600
"""Choices up to which wide parts of the graph are solved in seconds."""

SEARCH_BESIDE_SUB_DAGS = 0.6
"""Part of the time in which a local search runs where exact sub-graphs of an instance with few
choices are solved: these then have its core for themselves."""

SEARCH_FIRST = 0.4
"""Part of the time in which a local search runs beside CP-SAT on the whole instance: where that is
small the search is soon through with it, and proving needs both cores."""


def phases(instance: Instance, planners: Sequence[Planner]) -> Agenda:
    """The agenda of these planners, without those that others were measured to be better than."""
    kept = fit(instance, planners)
    shares = SHARES_OF_LONG if _sends_long(instance) else SHARES
    bounds = tuple((p, 1.0) for p in kept if p.name == "bounds")
    then = Phase(tuple((p, shares.get(p.name, 1.0)) for p in kept))
    exact = tuple(share for share in then.shares if share[0].name != "cpsat")
    waits = {"cpsat", "sub-dags"} <= {planner.name for planner in kept}
    first = Phase(bounds, FIRST_BOUNDS, rising=0.0 if waits else RISING_BOUNDS)
    between = (Phase(exact, EXACT_FIRST),) if waits else ()
    return (first, *between, then) if first.shares else (*between, then)


def search_share(instance: Instance, planners: Sequence[Planner]) -> float:
    """The part of the time that the local search has, beside these planners in the helper."""
    names = {planner.name for planner in fit(instance, planners)}
    choices = _choices(instance)
    if "cpsat" in names and choices > 0:
        return SEARCH_FIRST
    return SEARCH_BESIDE_SUB_DAGS if "sub-dags" in names and choices <= FEW else 1.0


def fit(instance: Instance, planners: Sequence[Planner]) -> list[Planner]:
    """The planners that `fitting` names."""
    names = fitting(instance, [planner.name for planner in planners])
    return [planner for planner in planners if planner.name in names]


def fitting(instance: Instance, names: Sequence[str]) -> list[str]:
    """Those of the planners that are worth their time here; all, if none is."""
    unfit: set[str] = set()
    whole = "cpsat" in names and _choices_of_kinds(instance) <= WHOLE
    if not whole and len(instance.cluster) > 1:
        unfit = {"cpsat"}
    if "sub-dags" in names and not (_narrow(instance) and (not whole or _places_decide(instance))):
        unfit.add("sub-dags")
    if "local-search-general" in names and _choices(instance) == 0:
        unfit.add("local-search")  # the other one knows how to swap tasks in a shop
    return [name for name in names if name not in unfit] or list(names)


def _places_decide(instance: Instance) -> bool:
    """Is where tasks run, and in which order, all that there is to choose in a small instance?"""
    if len(instance.cluster) == 1 or not 0 < _choices(instance) <= WHOLE:
        return False
    try:
        return only_threads(expand(instance))
    except UnsupportedInstance:
        return False


def _sends_long(instance: Instance) -> bool:
    """Do transfers take longer than tasks, in a graph that is not too large for cuts?"""
    if instance.graph.n_instances > MOST_TASKS:
        return False
    try:
        return transfer_share(expand(instance)) > LONG_TRANSFERS
    except UnsupportedInstance:
        return False


def _choices_of_kinds(instance: Instance) -> int:
    """Choices where workers that are interchangeable count as one, as they do for CP-SAT."""
    if instance.graph.n_instances > LARGEST_WHOLE:
        return _choices(instance)
    return _choices(kinds_of(instance).instance)


def _choices(instance: Instance) -> int:
    """Choices of a mode and a worker, of all tasks that have more than one."""
    graph = instance.graph
    each = np.add.reduceat(instance.eligible.sum(axis=1), graph.mode_ptr[:-1])
    return int((graph.count * np.where(each > 1, each, 0)).sum())


def _narrow(instance: Instance) -> bool:
    graph = instance.graph
    most = max(np.diff(graph.successor_ptr).max(), np.diff(graph.predecessor_ptr).max())
    return bool(0 < most <= (2 * NARROW if _choices(instance) <= FEW else NARROW))
