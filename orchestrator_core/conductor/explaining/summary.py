"""An explanation in one line."""

from __future__ import annotations

from collections.abc import Sequence

from orchestrator_core.conductor.explaining.section import Section
from orchestrator_core.conductor.explaining.words import SIZES, TIMES, amount, change, ratio
from orchestrator_core.conductor.goal import Goal

NOT_CALLED = "nothing is known yet: call it, or give `explain` the arguments of a call"


def goal_in_words(goal: Goal) -> str:
    """``for time``, ``for memory, at most 2 GB, sums may be reordered only``."""
    parts = [f"for {goal.objective}"]
    if goal.memory is not None:
        parts.append(f"at most {amount(goal.memory, SIZES)}")
    if goal.is_strict:
        parts.append("only sums may be reordered")
    if goal.allow is not None:
        parts.append(f"only {', '.join(sorted(goal.allow)) or 'no rewrite'}")
    if goal.deny:
        parts.append(f"without {', '.join(sorted(goal.deny))}")
    return ", ".join(parts)


def summary(reason: str, sections: Sequence[Section]) -> str:
    """What was changed, and what is predicted to come of it."""
    if reason == NOT_CALLED:
        return reason
    if reason:
        return f"it runs as it was: {reason}"
    sites = sum(len(section.sites) for section in sections)
    changed = sum(section.changed for section in sections)
    if not sites:
        return "nothing was found that could be rewritten: it runs as it was"
    noun = "site" if sites == 1 else "sites"
    text = f"{changed} of {sites} {noun} changed"
    gains = [gain for section in sections for gain in _gains(section)]
    return f"{text}; predicted: {'; '.join(gains)}" if gains else text


def _gains(section: Section) -> list[str]:
    if section.before is None or section.after is None:
        return []
    before, after = section.before, section.after
    pairs = [
        ("time", before.seconds, after.seconds, TIMES),
        ("temporary memory", before.temp_bytes, after.temp_bytes, SIZES),
    ]
    told = []
    for what, was, now, units in pairs:
        times = ratio(was, now)
        told.append(f"{what} {change(was, now, units)}" + (f" ({times} less)" if times else ""))
    of = "" if section.what == "the function" else f" {section.what}"
    return [f"{', '.join(told)}{of}"]
