"""warm_up: load, or compile, all compiled code, so that the first plan does not wait for it."""

from __future__ import annotations

from orchestrator_core.costs.instance import Instance


def warm_up() -> None:
    """Run every kernel once on a tiny instance; seconds on a new machine, then a fraction of one.

    To be called outside of event loops; any thread will do, since compiled code lets others run.
    """
    from orchestrator_core.plan.bounds import lower_bound
    from orchestrator_core.plan.budget import Budget
    from orchestrator_core.plan.engine.decoder import Choice, decode
    from orchestrator_core.plan.engine.expand import expand
    from orchestrator_core.plan.lists.list_planner import LIST_PLANNERS
    from orchestrator_core.plan.lists.orders import heft
    from orchestrator_core.plan.planner import Brief
    from orchestrator_core.plan.search.local_search import LocalSearch

    instance = Instance.from_arrays([[1.0, 2.0], [2.0, 1.0]], [(0, 1, 1.0)], deadline=100.0)
    for planner in LIST_PLANNERS:
        schedule = next(planner.plan(Brief(instance))).schedule
    lower_bound(instance)
    brief = Brief(instance, Budget(iterations=1), incumbent=schedule)
    for _ in LocalSearch().plan(brief):
        pass
    problem = expand(instance)
    decode(problem, Choice(next(heft(problem)).order), general=True)
