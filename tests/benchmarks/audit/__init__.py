"""Tiny instances with every constraint, planned and compared with exact optima.

    ./dev bench audit [--instances N] [--from SEED] [--milliseconds MS] [--kind KIND] [--keep FILE]

Of each instance, under one of the objectives: is the plan a schedule, is no bound above the
optimum and no plan below it, do certificates prove what they say, and is what is called infeasible
infeasible, and only that? The optimum is that of the time-indexed program, which shares no model
with the planners. Where it is too large or takes too long, an instance is counted apart.

Of the kind `noise`, times are no whole ticks, and the optimum is known to a small part; of the kind
`threads`, nothing else is scarce, so that all local searches can be asked.

With `--keep`, each verdict is written to a file at once, and those that are there already are not
made again: a long audit can be made in pieces.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from orchestrator_core.plan.budget import Budget
from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.audit.case import KINDS, cases
from tests.benchmarks.audit.judging import verdict_of
from tests.benchmarks.audit.kept import Kept
from tests.benchmarks.audit.show import show
from tests.benchmarks.audit.tally import Tally, grouped
from tests.benchmarks.audit.verdict import Verdict

SHOWS_ITSELF = True


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("audit")
    group.add_argument("--instances", type=int, default=200, help="how many; default: 200")
    group.add_argument("--from", type=int, default=1_000_000, dest="first", help="the first seed")
    group.add_argument("--milliseconds", type=float, default=200.0, help="of each plan")
    group.add_argument("--kind", choices=list(KINDS), default="every", help="of instances")
    group.add_argument(
        "--keep", type=Path, metavar="FILE", help="verdicts, a line each; go on there"
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    warm_up()
    budget = Budget(seconds=options.milliseconds / 1000)
    kept = Kept(options.keep, Verdict)
    for case in cases(options.first, options.instances, options.kind):
        if case.seed not in kept:
            kept.add(verdict_of(case, budget))
    found = _summary(kept, options)
    show(found)
    return found


def _summary(kept: Kept[Verdict], options: argparse.Namespace) -> dict[str, Any]:
    verdicts = kept.since(options.first, options.instances)
    everything = Tally(verdicts)
    return {
        "first_seed": options.first,
        "milliseconds": options.milliseconds,
        "kind": options.kind,
        "all": everything.as_json(),
        "by_source": grouped(verdicts, lambda verdict: [verdict.source]),
        "by_objective": grouped(verdicts, lambda verdict: [verdict.objective]),
        "by_constraint": grouped(verdicts, lambda verdict: verdict.constraints),
        "violations": everything.violations,
    }
