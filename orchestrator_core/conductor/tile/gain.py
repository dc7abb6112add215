"""What a rewritten graph gains, by the price of the whole graph: XLA fuses across what changes.

So where XLA keeps nothing of a pairwise computation anyway, that is known.
"""

from __future__ import annotations

from orchestrator_core.conductor.cost import this_device
from orchestrator_core.conductor.goal import Goal
from orchestrator_core.conductor.site import Price
from orchestrator_core.conductor.tile.form import Form

WORTH = 0.9
"""The part of the seconds that a faster form must stay below: prices of what XLA makes of a loop
and of a whole are not exact, and nothing may be slower."""

LIGHTER, WORTH_OF_LIGHTER = 10, 0.95
"""The same where so many times less is kept, of what no cache holds: what moves from and to memory
takes longer than is thought. Measured, two cores: a contrastive loss of 8192 x 8192 with gradients
that was to take 0.904 of the time took 0.5 of it."""

WORTH_IN_CACHE = 0.7
"""The same where a CPU's last cache may hold some of the temporary values. Measured, EPYC, 2026, 89
functions and gradients of 1024 x 1024 pairs: of those that were to take 0.7 of the time or less in
tiles none took more than 0.95 of it, of those that were to take more every second took longer than
plain code, at the worst 1.75 times."""

WORTH_OF_COORDINATES, WORTH_OF_COORDINATES_IN_CACHE = 0.6, 0.4
"""The same of points whose coordinates are summed within, most of whose work is to move these: the
time of both hangs on who else uses the memory. Measured, gradients of distances, kernels and forces
of 1024 and 2048 points in 2 to 32 coordinates: of those whose tiles were to take 0.7 to 0.9 of the
time half took 1.1 to 2 of it; of 128 to 256 points that were to take 0.47 to 0.59, six of eight 1.2
to 1.5."""

WORTH_OF_SKEWS = 0.75
"""The same of what is skewed, whose windows are moved more often than prices know. Measured on two
cores: with gradients, 2048 and 4096 positions that were to take 0.78 and 0.72 of the time took 1.09
and 0.83 of it."""

WORTH_OF_RUNNINGS = 0.7
"""The same of what runs along tiles in blocks. Measured: `softmax(cumlogsumexp(q k)) v` of
4 x 1024 x 1024 that was to take 0.86 of the time of a tree of slices took 2.3 of it."""


def of_site(was: Price, now: Price, form: Form) -> tuple[Price, Price]:
    """The seconds of the passes, and of what stood there; bytes are those of the whole graph.

    Where all else is thought to take longer beside the passes than the graph did before, there is
    nothing to tell apart: both prices are those of the whole.
    """
    rest = now.seconds - form.seconds
    if rest >= was.seconds:
        return was, now
    before = Price(was.seconds - rest, was.temp_bytes)
    return before, Price(form.seconds, now.temp_bytes)


def is_for_time(was: Price, goal: Goal) -> bool:
    """Is a gain in time what is wanted, and not only less memory?"""
    is_too_large = goal.memory is not None and was.temp_bytes > goal.memory
    return goal.objective != "memory" and not is_too_large


def refusal_of(
    was: Price,
    now: Price,
    goal: Goal,
    has_coordinates: bool = False,
    has_skews: bool = False,
    has_runnings: bool = False,
) -> str:
    """Why the rewritten graph is not taken; empty if it is.

    Args:
        was, now: prices of the whole graph, or of the part that changes.
        has_coordinates: as of `Region`. has_skews: is something in it skewed? has_runnings: does
            something run along it in blocks?
    """
    is_smaller = now.temp_bytes < was.temp_bytes
    if goal.objective == "memory":
        return "" if is_smaller else "XLA keeps no more of it than tiles would"
    if goal.memory is not None and was.temp_bytes > goal.memory and is_smaller:
        return ""
    worth = min(
        _worth(was, now, has_coordinates),
        WORTH_OF_SKEWS if has_skews else 1.0,
        WORTH_OF_RUNNINGS if has_runnings else 1.0,
    )
    if now.seconds <= worth * was.seconds:
        return ""
    told = f"in tiles it would take {now.seconds:.2g} s, as it is {was.seconds:.2g} s"
    if now.seconds >= was.seconds:
        return told
    return f"{told}; less than {worth:.2g} of that is asked, as forecasts may be off"


def _worth(was: Price, now: Price, has_coordinates: bool) -> float:
    is_lighter = LIGHTER * now.temp_bytes <= was.temp_bytes
    beyond, inside = WORTH_OF_LIGHTER if is_lighter else WORTH, WORTH_IN_CACHE
    if has_coordinates:
        beyond, inside = WORTH_OF_COORDINATES, WORTH_OF_COORDINATES_IN_CACHE
    return inside if this_device().part_in_cache(was.temp_bytes) else beyond
