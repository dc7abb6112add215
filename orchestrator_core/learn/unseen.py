"""Numbers that no run was given yet: what is foretold for them is from runs with others."""

from __future__ import annotations

from collections.abc import Iterable

from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.learn.learned import FeatureCosts, KindCosts

FAR = 2.0
"""A number so many times as large as all before it, or smaller than all, is another one."""

SAME = 1.5
"""Numbers that differ by less than this factor are the same one."""


def unseen(kinds: Iterable[KindCosts], graph: TaskGraph) -> str:
    """One sentence for people about the first such number in the graph; empty if there is none.

    Of a number that has varied, and nothing seemed to depend on it, nothing is said.
    """
    known = {kind.kind: kind.features for kind in kinds}
    pairs = set(zip(graph.kind_of.tolist(), graph.features_of.tolist(), strict=True))
    for kind, place in sorted(pairs):
        given = graph.feature_sets[place]
        for each in known.get(graph.kinds[kind], ()):
            if each.name in given and _is_unseen(each, given[each.name]):
                return _sentence(each, given[each.name])
    return ""


def _is_unseen(seen: FeatureCosts, value: float) -> bool:
    matters = bool(seen.exponent) or seen.may_matter or seen.high < SAME * seen.low
    return matters and not seen.low / FAR < value < seen.high * FAR


def _sentence(seen: FeatureCosts, value: float) -> str:
    before = _text(seen.low)
    if seen.high >= SAME * seen.low:
        before += f" to {_text(seen.high)}"
    then = "as it grew until there" if seen.exponent else "as of those"
    wanted = f"{seen.name} = {_text(value)}"
    return f"nothing learned yet with {wanted}, only with {before}: foretold {then}"


def _text(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"
