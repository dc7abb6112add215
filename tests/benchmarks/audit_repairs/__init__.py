"""Repairs of tiny plans after random events, each compared with the exact optimum of what is left.

    ./dev bench audit_repairs [--instances N] [--from SEED] [--kind KIND] [--keep FILE]

Of each repair: does it keep every rule, is the past as it was, is nothing left out that could run,
and how far is it from the best that could still be done? See `audit` for the instances.
"""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from orchestrator_core.plan.warm import warm_up
from tests.benchmarks.audit.case import KINDS, cases
from tests.benchmarks.audit.kept import Kept
from tests.benchmarks.audit_repairs.run import verdict_of
from tests.benchmarks.audit_repairs.verdict import RepairVerdict


def add_options(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("audit_repairs")
    group.add_argument("--instances", type=int, default=200, help="how many; default: 200")
    group.add_argument("--from", type=int, default=1_000_000, dest="first", help="the first seed")
    group.add_argument("--kind", choices=list(KINDS), default="every", help="of instances")
    group.add_argument(
        "--keep", type=Path, metavar="FILE", help="verdicts, a line each; go on there"
    )


def measure(options: argparse.Namespace) -> dict[str, Any]:
    warm_up()
    kept = Kept(options.keep, RepairVerdict)
    for case in cases(options.first, options.instances, options.kind):
        if case.seed not in kept:
            kept.add(verdict_of(case))
    return _summary(kept.since(options.first, options.instances))


def _summary(verdicts: list[RepairVerdict]) -> dict[str, Any]:
    repairs = [repair for verdict in verdicts for repair in verdict.repairs]
    outcomes = Counter(repair.outcome for repair in repairs)
    gaps = sorted(repair.gap for repair in repairs if repair.gap is not None)
    some = [repair for repair in repairs if repair.gap is not None]
    return {
        "plans": len(verdicts),
        "repairs": len(repairs),
        "outcomes": dict(outcomes),
        "with": dict(Counter(name for repair in repairs for name in repair.events)),
        "tasks_left_out": sum(repair.blocked > 0 for repair in repairs),
        "deadlines_missed": sum(repair.missed > 0 for repair in repairs),
        "of_these_needlessly": sum(repair.is_needless for repair in repairs),
        "optimal": sum(gap <= 0 for gap in gaps),
        "optimal_with_search": sum(repair.gap <= 0 for repair in some if repair.searched),
        "compared": len(gaps),
        "compared_with_search": sum(repair.searched for repair in some),
        "mean_gap": round(sum(gaps) / len(gaps), 4) if gaps else None,
        "worst_gap": round(gaps[-1], 4) if gaps else None,
        "violations": [
            f"seed {verdict.seed} ({verdict.source}): {violation}"
            for verdict in verdicts
            for repair in verdict.repairs
            for violation in repair.violations
        ],
    }
