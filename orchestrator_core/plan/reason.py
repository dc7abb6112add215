"""The one sentence of a plan: whose schedule it is, why not a better one, and what is proven."""

from __future__ import annotations

from orchestrator_core.plan.result import PlanResult, PlanStatus

SOLVING_SECONDS = 0.1
"""An attempt of CP-SAT that took less did not get as far as solving."""

_TITLES = {
    "heft": "HEFT",
    "heft-min": "HEFT (shortest durations)",
    "heft-max": "HEFT (longest durations)",
    "balance": "Balanced HEFT",
    "peft": "PEFT",
    "cpop": "CPoP",
    "dps": "Decisive Path Scheduling",
    "serial": "Serial",
    "edf": "Earliest Deadline First",
    "local-search": "Local search",
    "local-search-general": "Local search",
    "objective-search": "Local search",
    "time-search": "Local search",
    "tardiness-lists": "Lists by due dates",
    "price-subsets": "Lists on a few workers",
    "memory-limits": "Lists with less memory",
    "beam": "Beam search",
    "coarsen": "Planning by groups of tasks",
    "windows": "CP-SAT on windows of the schedule",
    "sub-dags": "Exact sub-graphs",
    "bounds": "Rounding of a linear program",
    "cpsat": "CP-SAT",
    "cpsat-objective": "CP-SAT",
    "hint": "The schedule handed in",
}


def title_of(planner: str) -> str:
    """What a person calls the planner."""
    return _TITLES.get(planner, planner)


def reason_of(result: PlanResult) -> str:
    """The sentence, for a person; its numbers are those of the result."""
    title = title_of(result.planner)
    worth = _worth(result)
    if result.status is PlanStatus.OPTIMAL:
        if result.bound_method != "CP-SAT":
            return f"{title}: {worth} is optimal, since it meets the bound ({result.bound_method})."
        whose = "" if title == "CP-SAT" else f"; {title} had found it"
        return f"CP-SAT proved {worth} optimal{whose}."
    return f"{title}{_beside(result)}; {_proven(result)}."


def _worth(result: PlanResult) -> str:
    """The value under the first criterion, with its unit."""
    criterion = result.objective.partition(",")[0]
    if criterion == "memory":
        return f"{result.value / 2**30:.4g} GiB at the peak"
    units = {"makespan": "s", "tardiness": "s of weighted tardiness"}
    return f"{result.value:.4g} {units.get(criterion, 'to pay')}"


def _proven(result: PlanResult) -> str:
    """How far from optimal the first criterion is; if not at all, another one may be."""
    others = result.objective.split(",")[1:]
    if result.gap == 0 and others:
        rest = f"its {others[0]} may not be the least"
        return f"no schedule has less ({result.bound_method}), but {rest}"
    if result.lower_bound > 0:
        return f"proven within {100 * result.gap:.2g} % of the optimum ({result.bound_method})"
    return "no bound is known"


def _beside(result: PlanResult) -> str:
    """What the other planners had to say."""
    if not result.objective.startswith("makespan"):
        return f" gave the schedule: {_worth(result)}"
    exact = next((a for a in result.attempts if a.planner == "cpsat"), None)
    others = [
        attempt.makespan
        for attempt in result.attempts
        if attempt.makespan is not None and attempt.planner != result.planner
    ]
    if result.planner == "cpsat":
        if not others:
            return " found the schedule"
        shorter = 100 * (1 - result.makespan / min(others))
        return f" found a schedule {shorter:.2g} % shorter than the next best"
    best = f" gave the best of {len(others) + 1} schedules" if others else " gave the schedule"
    if exact is None or exact.seconds < SOLVING_SECONDS:
        return best
    return f"{best}; CP-SAT could not better it in {exact.seconds:.2g} s"
