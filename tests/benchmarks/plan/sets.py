"""The benchmark sets, from a folder of public instances or from what the repository has."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

from orchestrator_core.costs.instance import Instance
from orchestrator_core.graph.formats import read_workflow
from tests.benchmarks.plan.case import Case, CaseSet
from tests.benchmarks.plan.instances import (
    SHAPES,
    as_recorded,
    identical,
    layered,
    random,
    related,
)

ROOT = Path(__file__).resolve().parents[3]
TRACES = ROOT / "examples" / "data"
SMALL = ROOT / "tests" / "instances"
PLATFORM_SEEDS = (7, 11, 23)
CCRS = (0.1, 1.0, 5.0)

OWN = {
    "STG": [
        (SMALL / "stg-rand0012.stg", m, best) for m, best in ((2, 127.0), (4, 76.0), (8, 76.0))
    ],
    "RCPSP": [(SMALL / "psplib-j30-13.rcp", 0, 43.0)],
    "MMRCPSP": [(SMALL / "mmlib-j50-2-4.mm", 0, 24.0)],
    "JSP": [(SMALL / "jsplib-ft06.txt", 0, 55.0)],
}
"""Instances of the repository, with the number of processors and the optimum."""


def all_sets(data: Path | None) -> list[CaseSet]:
    """Every set, in the order in which they are measured."""
    rows = list(_known(data)) if data else []
    return [
        CaseSet("stg", "STG, identical processors", 1.0, _published("STG", rows), "proven rows: ="),
        CaseSet("rcpsp", "RCPSP", 60.0, _published("RCPSP", rows), "gap J60 0.5 %, J120 2.5 %"),
        CaseSet("mmrcpsp", "MMRCPSP", 60.0, _published("MMRCPSP", rows), "MMLIB50 gap 0.5 %"),
        CaseSet("jsp", "JSP", 60.0, _published("JSP", rows), "ft and la optimal"),
        CaseSet(
            "wfcommons", "WfCommons, 8 related workers", 2.0, _workflows(data, PLATFORM_SEEDS),
            "HEFT/ours 1.04, 1.08, 1.20 by CCR; never worse than SAGA",
        ),
        CaseSet(
            "proofs", "WfCommons, plan and proof", 10.0, _workflows(data, PLATFORM_SEEDS[:1]),
            "median gap <= 1 %, 75 % within 2 %, worst <= 25 %",
        ),
        CaseSet("layered", "random layered", 30.0, _layered(), "gap 10, 10, 35 %"),
        CaseSet("small", "n <= 50", 10.0, _small(data), ">= 90 % proven"),
    ]  # fmt: skip


def _known(data: Path) -> Iterator[tuple[str, Path, int, Case]]:
    """(set, file, processors, case without instance) of each row that has a best known value."""
    with (data / "best_known.csv").open(newline="", encoding="utf-8") as file:
        for row in csv.DictReader(file):
            if not row["best_known"]:
                continue
            name, own = row["instance"], row["set"] == "STG"
            processors = int(row["platform"].split()[0]) if own else 0
            folder = data / row["set"].lower()
            path = next((p for p in (folder / name, folder / f"{name}.txt") if p.is_file()), None)
            if path is None:
                continue
            case = Case(
                name=f"{name} on {processors}" if own else name,
                make=_nothing,
                tasks=int(row["n_tasks"]),
                best_known=float(row["best_known"]),
                lower_bound=float(row["lower_bound"] or 0),
                proven=row["proven_optimal"] == "1",
                group=_group(row),
            )
            yield row["set"], path, processors, case


def _group(row: dict[str, str]) -> str:
    """Published proven or open for STG, the family for projects, nothing for job shops."""
    if row["set"] == "STG":
        return "proven" if row["proven_optimal"] == "1" else "open"
    families = ("J30", "J60", "J120", "RG300", "J50", "J100")
    return next((f for f in sorted(families, key=len)[::-1] if row["instance"].startswith(f)), "")


def _published(name: str, rows: list[tuple[str, Path, int, Case]]) -> tuple[Case, ...]:
    found = [
        replace(case, make=_reader(path, processors))
        for which, path, processors, case in rows
        if which == name
    ]
    for path, processors, best in () if found else OWN[name]:
        label = f"{path.name} on {processors}" if processors else path.name
        found.append(Case(label, _reader(path, processors), 0, best, best, True))
    return tuple(found)


def _reader(path: Path, processors: int) -> Callable[[], Instance]:
    return partial(identical, path, processors) if processors else partial(as_recorded, path)


def _workflows(data: Path | None, seeds: tuple[int, ...], largest: int = 0) -> tuple[Case, ...]:
    """Each recorded workflow at each CCR on each platform."""
    cases = []
    for path in sorted((data / "wfcommons" if data else TRACES).glob("*.json.gz")):
        graph = read_workflow(path)
        if largest and len(graph) > largest:
            continue
        for ccr in CCRS:
            for seed in seeds:
                name = f"{path.name.removesuffix('.json.gz')} ccr={ccr:g} seed={seed}"
                make = partial(related, graph, 8, ccr, seed)
                cases.append(Case(name, make, len(graph), group=f"ccr={ccr:g}"))
    return tuple(cases)


def _layered() -> tuple[Case, ...]:
    return tuple(
        Case(
            f"layered-{n} ccr={ccr:g} seed={seed}",
            partial(layered, n, 8, ccr, seed),
            n,
            group=f"n={n} ccr={ccr:g}",
        )
        for n, ccr in ((50, 5.0), (100, 1.0), (100, 5.0), (200, 1.0))
        for seed in (1, 2, 3)
    )


def _small(data: Path | None) -> tuple[Case, ...]:
    """Random graphs of each shape, on unrelated workers and on related ones, and recorded ones."""
    random_ones = tuple(
        Case(
            f"{shape}-{n}x{w} ccr={ccr:g} {'related' if related_ones else 'unrelated'}",
            partial(random, shape, n, w, ccr, 100 * n + w, related_ones),
            n,
            group=shape,
        )
        for shape in SHAPES
        for n, w in ((20, 4), (30, 8), (40, 3), (50, 4), (50, 8))
        for ccr in (0.1, 1.0)
        for related_ones in (False, True)
    )
    real = _workflows(data, PLATFORM_SEEDS, largest=50)
    recorded = (replace(case, group="recorded") for case in real if "ccr=5" not in case.name)
    return random_ones + tuple(recorded)


def _nothing() -> Instance:
    raise AssertionError("a row of the table of best known values has no instance yet")
