"""Rungs by turns: those that raise the bound have more of them, and where none does, all have as
many (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orchestrator_core.plan.planner import Proposal

TURN = 0.02
"""Part of the budget that a rung has until it may be another's turn."""

AT_LEAST = 5
"""One turn in so many is that of the rung which has waited longest."""

FADE = 0.5
"""What a gain still counts a turn later."""

LITTLE = 1e-4
"""Gains, relative to what is proven, that are no reason to prefer a rung."""


def by_turns(
    rungs: list[Iterator[Proposal]], proven: Callable[[], float], spent: Callable[[], float]
) -> Iterator[Proposal]:
    """All that the rungs say, until each has ended.

    Args:
        proven: seconds that no schedule is shorter than, as far as is known by now.
        spent: the part of the budget that is spent by now.
    """
    gains, waiting, turn = [0.0] * len(rungs), list(range(len(rungs))), 0
    while waiting:
        k = max(waiting, key=lambda rung: gains[rung])
        if gains[k] <= LITTLE * proven() or turn % AT_LEAST == AT_LEAST - 1:
            k = waiting[0]
        waiting.remove(k)
        before, until = proven(), spent() + TURN
        for proposal in rungs[k]:
            yield proposal
            if spent() >= until:
                waiting.append(k)
                break
        gains[k] = FADE * gains[k] + proven() - before
        turn += 1
