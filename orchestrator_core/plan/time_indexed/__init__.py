"""The time-indexed integer program: the exact oracle for tiny instances, without any interval.

With jobs j (here: each instance of each task is one), workers d and whole ticks t, q[j,d,t] says
that j is completed on d by t, and m[j,d,d2,t] that its output is encoded on d for d2 by t. The
program from which this project started reads

    (1) sum_j q[j,d,t+exec] - q[j,d,t] + sum_j,d2 m[j,d,d2,t+enc] - m[j,d,d2,t] <= threads(d)
    (2) q[j,d,t] >= sum_d2 m[j,d,d2, t+exec+enc+transit]
    (3) sum_src n * m[a,src,d,t]  vs  q[b,d,t+exec(b,d)]    for b, which needs n outputs of a
    (4) sum_d q[j,d,T] >= count(j);  minimise z, where every completion happens by z

and is corrected where that is loose:

* (2) shifted by exec: q is a completion already, so encoding may be over at t + enc for what was
  completed at t. And by transit, which takes no thread: m is "encoded by", as (1) wants it, and
  the transit moves to (3), where a consumer looks at m[a,src,d, t - transit].
* (2) summed over destinations, as if an output left its worker: it is copied. One constraint for
  each destination; all consumers there share the one transfer.
* (3) left out outputs made on d itself: q[a,d,t] is added.
* (3) had n on the side of what is there: n outputs of a are needed for each b, so n multiplies b.
  With numbered instances it vanishes: b_r needs certain outputs of a, one constraint for each.
* (4) with numbered instances: each completed exactly once, on one worker in one mode.
* Beyond T nothing is completed: an index past T means T, one before 0 means nothing yet.
* Not in the original: modes, pieces between checkpoints (each with its own q, on one worker),
  releases, deadlines, resources, stock, and memory, where u[j,d,t] says that j's output is held on
  d in [t, t+1): it is there (made; or arrived, or a consumer has started) and is used later.

Any objective beside z is a linear expression of these (`criteria.py`): the tardiness of j, say, is
the number of ticks from its due date on at which it is not completed.

It has about J * D^2 * T variables: never the production model. CP-SAT solves it to the end.
"""

from __future__ import annotations

from orchestrator_core.plan.time_indexed.optimum import (
    OptimalValue,
    Optimum,
    optimal_makespan,
    optimal_value,
)

__all__ = ["OptimalValue", "Optimum", "optimal_makespan", "optimal_value"]
