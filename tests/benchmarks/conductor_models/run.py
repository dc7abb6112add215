"""All models of all repositories that are there."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from orchestrator_core.conductor import Goal
from tests.benchmarks.conductor_models import state_spaces, transformers
from tests.benchmarks.conductor_models.load import MissingRepository
from tests.conductor.corpus.case import Case
from tests.conductor.corpus.examine import changed_bits, examined

MAKERS: Sequence[Callable[[Path], list[Case]]] = (
    *(transformers.gpt, transformers.palm, transformers.vision),
    *(state_spaces.mamba, state_spaces.mamba_minimal, state_spaces.s4),
)

HEAD = f"{'model':<30} {'transform':<16} {'identity':<16} {'gains':<20} {'all rewrites':<20} pairs"


def run(repositories: Path, named: str) -> dict[str, Any]:
    """A row for each model, forward and with its gradients."""
    print(HEAD, flush=True)
    rows = []
    for make in MAKERS:
        for case in _cases(make, repositories):
            if named in case.name:
                for transform in ("forward", "gradient_inside"):
                    rows.append(_row(case, transform))
                    print(_text(rows[-1]), flush=True)
    return {"rows": rows}


def _cases(make: Callable[[Path], list[Case]], repositories: Path) -> list[Case]:
    try:
        return make(repositories)
    except MissingRepository as error:
        print(f"not there: {error}", flush=True)
        return []


def _row(case: Case, transform: str) -> dict[str, Any]:
    """Is nothing changed if nothing is allowed; and is it right with what gains, and with all?"""
    chosen = examined(case, transform, Goal())
    everything = examined(case, transform, Goal(always=True))
    return {
        "model": case.name,
        "transform": transform,
        "identity": changed_bits(case, transform) or "bitwise",
        "gains": _said(chosen.verdict),
        "all": _said(everything.verdict),
        "pairs": {True: "left", False: "none left"}[everything.is_pairwise]
        if everything.was_pairwise
        else "",
    }


def _said(verdict: Any) -> str:
    return f"{'right' if verdict.is_right else 'WRONG'} {verdict.error:.0e} {verdict.why}".strip()


def _text(row: dict[str, Any]) -> str:
    return (
        f"{row['model']:<30} {row['transform']:<16} {row['identity']:<16} {row['gains']:<20}"
        f" {row['all']:<20} {row['pairs']}"
    )
