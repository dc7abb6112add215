"""Rungs by turns: those that raise the bound have more of them (stage 3)."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from orchestrator_core.plan.planner import Proposal

TURN = 0.02
"""Part of the budget that a rung has until it may be another's turn."""

AT_LEAST = 5
"""One turn in so many is that of the rung which gained least lately."""

FADE = 0.5
"""What a gain still counts a turn later."""


def by_turns(
    rungs: list[Iterator[Proposal]], proven: Callable[[], float], spent: Callable[[], float]
) -> Iterator[Proposal]:
    """All that the rungs say, until each has ended.

    Args:
        proven: seconds that no schedule is shorter than, as far as is known by now.
        spent: the part of the budget that is spent by now.
    """
    gains, left, turn = [0.0] * len(rungs), list(range(len(rungs))), 0
    while left:
        left.sort(key=lambda k: -gains[k])
        k = left[-1 if turn % AT_LEAST == AT_LEAST - 1 else 0]
        before, until = proven(), spent() + TURN
        for proposal in rungs[k]:
            yield proposal
            if spent() >= until:
                break
        else:
            left.remove(k)
        gains[k] = FADE * gains[k] + proven() - before
        turn += 1
