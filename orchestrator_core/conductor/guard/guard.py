"""The guard: keeps of a plan what stands the checks that the goal asks for.

A plan that a probe refutes is made again without one of its changes at a time: first without a
site, then without a rewrite, then with one rewrite alone. What passes first is kept; if nothing
does, the original is.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from orchestrator_core.conductor import _jax, rewriting
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.guard.measure import SLOWER, measured
from orchestrator_core.conductor.guard.probe import Probe
from orchestrator_core.conductor.ir.evaluate import evaluate
from orchestrator_core.conductor.ir.graph import Graph
from orchestrator_core.conductor.planning.planned import Planned
from orchestrator_core.conductor.site import AS_IT_IS, Site

MOST_TRIES = 12
"""Plans that are probed after the first has failed."""

INSIDE_A_TRACE = "not checked: inside another trace there are no values to check"


def guarded(before: Graph, planned: Planned, goal: Goal, arrays: Sequence[Any]) -> Planned:
    """The plan, or what is left of it after the checks of `Goal.check`.

    Args:
        before: the graph as it was. arrays: of a call; while JAX traces nothing can be checked.
    """
    if goal.check == "none" or not planned.is_changed or before.is_effectful:
        return planned
    if any(isinstance(array, _jax.Tracer) for array in arrays):
        notes = dict.fromkeys((*planned.notes, INSIDE_A_TRACE))
        return dataclasses.replace(planned, notes=tuple(notes))
    planned = _probed(before, planned, goal, arrays)
    if goal.check == "measure" and planned.is_changed:
        planned = _timed(before, planned, arrays)
    return planned


def _probed(before: Graph, planned: Planned, goal: Goal, arrays: Sequence[Any]) -> Planned:
    probe = Probe(before, arrays)
    said = probe.refutes(planned.graph)
    if said is None:
        return planned
    reason = f"put back: the probe has refuted it ({said})"
    return _with_less(before, planned, goal, probe.refutes, reason)


def mended(before: Graph, planned: Planned, goal: Goal, error: Exception) -> Planned:
    """What is left of a plan that JAX could not trace, without what that is due to."""
    return _with_less(before, planned, goal, _fails, _failed(error))


def given_up(before: Graph, planned: Planned, error: Exception) -> Planned:
    """Nothing of a plan, of which parts could not be traced."""
    return _as_it_was(before, planned, _failed(error))


def _failed(error: Exception) -> str:
    said = str(error).strip().split("\n")[0]
    return f"put back: it failed ({type(error).__name__}: {said})"


def _fails(graph: Graph) -> str | None:
    try:
        _jax.trace(lambda *arrays: evaluate(graph, arrays), [each.aval for each in graph.inputs])
    except Exception as error:
        return repr(error)
    return None


def _with_less(
    before: Graph,
    planned: Planned,
    goal: Goal,
    refutes: Callable[[Graph], str | None],
    reason: str,
) -> Planned:
    """The first smaller plan that nothing speaks against."""
    for wanted, dropped in itertools.islice(_smaller(planned.sites, goal), MOST_TRIES):
        graph, sites = rewriting.rewritten(before, wanted)
        if refutes(graph) is None:
            kept = tuple(_put_back(dropped, reason, sites))
            return planned.changed_to(graph, kept)
    return _as_it_was(before, planned, reason)


def _smaller(sites: Sequence[Site], goal: Goal) -> Iterator[tuple[Goal, list[Site]]]:
    """Goals that ask for less, and the sites that they give up."""
    changed = [site for site in sites if site.is_changed]
    names = list(dict.fromkeys(site.rewrite for site in changed))
    if len(changed) > 1:
        for one in changed:
            pinned = tuple(
                dataclasses.replace(site, chosen=AS_IT_IS) if site is one else site
                for site in sites
            )
            yield dataclasses.replace(goal, pinned=pinned), [one]
    if len(names) > 1:
        for name in names:
            yield _without(goal, {name}), [site for site in changed if site.rewrite == name]
    if len(names) > 2:
        for name in names:
            others = set(names) - {name}
            yield _without(goal, others), [site for site in changed if site.rewrite != name]


def _without(goal: Goal, names: set[str]) -> Goal:
    return dataclasses.replace(goal, deny=goal.deny | names)


def _timed(before: Graph, planned: Planned, arrays: Sequence[Any]) -> Planned:
    seconds = measured(before, planned.graph, arrays)
    if seconds[1] > SLOWER * seconds[0]:
        ratio = seconds[1] / seconds[0]
        reason = f"put back: measured, the whole program took {ratio:.2f} times as long"
        planned = _as_it_was(before, planned, reason)
    note = f"measured: {seconds[0]:.3g} s as it was, {seconds[1]:.3g} s rewritten"
    sites = tuple(
        dataclasses.replace(site, measured=seconds) if site.is_changed else site
        for site in planned.sites
    )
    return dataclasses.replace(planned, sites=sites, notes=(*planned.notes, note))


def _as_it_was(before: Graph, planned: Planned, reason: str) -> Planned:
    changed = [site for site in planned.sites if site.is_changed]
    others = [site for site in planned.sites if not site.is_changed]
    sites = tuple(_put_back(changed, reason, others))
    return planned.changed_to(before, sites)


def _put_back(dropped: Sequence[Site], reason: str, known: Sequence[Site]) -> list[Site]:
    """The sites that are known now, and the dropped ones as they are now."""
    said = {
        _key(site): dataclasses.replace(site, chosen=AS_IT_IS, reason=reason) for site in dropped
    }
    now = [site if site.is_changed else said.pop(_key(site), site) for site in known]
    return [*now, *said.values()]


def _key(site: Site) -> tuple[str, str, str]:
    """Sites with the same are decided the same, see `Goal.decided`."""
    return site.rewrite, site.source, site.found
