"""A flow that has not run: its graph is traced, and what nobody has seen is guessed, and said."""

from __future__ import annotations

import difflib
import importlib
import json
from collections.abc import Mapping, Sequence
from typing import Any

from orchestrator_core import words
from orchestrator_core.cli.machines import EQUAL_WORKERS
from orchestrator_core.cli.question import Question
from orchestrator_core.cli.target import FlowTarget
from orchestrator_core.cli.workers import equal_workers
from orchestrator_core.costs.guessed import GuessedCosts
from orchestrator_core.costs.model import FirstKnown
from orchestrator_core.errors import InvalidInput, UnknownFlow, UnknownRun
from orchestrator_core.execute.paced import parts
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.orchestrate import Orchestrator
from orchestrator_core.orchestrate.forecaster import PESSIMISTIC
from orchestrator_core.plan.dates import softened
from orchestrator_core.store.base import Store

TRACING = "orchestrator_prefect.tracing.asked"
"""Home of what follows flows; by name, because it stands above the command line."""

GUESS = GuessedCosts()

ALIKE = 0.75
"""Share of their letters from which on one name may have been meant by another."""


def parse_parameters(texts: Sequence[str]) -> dict[str, Any]:
    """Parameters of a flow by name, from ``name=value``; a value that is no JSON is text.

    Raises:
        InvalidInput: naming the text that is none.
    """
    found: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not equals or not name.strip().isidentifier():
            raise InvalidInput(f'{text!r} is not NAME=VALUE, such as n=3 or kinds=\'["a", "b"]\'')
        try:
            found[name.strip()] = json.loads(value)
        except ValueError:
            found[name.strip()] = value
    return found


def traced_question(
    target: FlowTarget,
    flow: str,
    origin: str,
    cluster: Cluster,
    notes: Sequence[str],
    orchestrator: Orchestrator,
    store: Store,
) -> Question:
    """The graph that the flow would submit, priced.

    Args:
        notes: what is to be said of the cluster.

    Raises:
        UnknownFlow: if there is none by that name.
        InvalidInput, UnknownRun: if the flow cannot be followed, with the line and the reason.
    """
    try:
        found = importlib.import_module(TRACING).trace_flow(
            target.source, target.attribute, target.parameters
        )
    except UnknownFlow:
        raise
    except (InvalidInput, ImportError) as error:
        if target.parameters:
            raise InvalidInput(f"the flow {flow!r} cannot be followed: {error}") from None
        raise UnknownRun(_never_ran(flow, store, str(error))) from None
    graph = found.graph
    unknown = orchestrator.unknown_kinds(graph, cluster)
    caveat = orchestrator.caveat(graph, cluster)
    orchestrator.stated = FirstKnown((found.stated, GUESS))
    return Question(
        flow,
        orchestrator.price(graph, cluster, known=cluster),
        (*_notes(len(graph.kinds), len(unknown), found.inline, caveat), *notes),
        orchestrator.price(softened(graph), cluster, PESSIMISTIC, known=cluster),
        orchestrator.lead(flow, graph.n_instances, origin),
        # The first burst is part of the lead.
        tuple(parts(graph.names, found.bursts)[1:]),
    )


def known_cluster(store: Store) -> tuple[Cluster, tuple[str, ...]]:
    """The workers of the last run of any flow, and what is to be said of them."""
    newest = store.runs(limit=1)
    if not newest:
        assumed = f"no run is stored yet: {EQUAL_WORKERS} equal workers are assumed"
        return Cluster(equal_workers(EQUAL_WORKERS)), (f"{assumed}; say others with --workers",)
    run = store.run(newest[0].run_id)
    said = f"workers as run {run.run_id[:8]} of flow {run.flow!r} had them"
    return run.cluster, (f"{said}, {words.ago(run.started_at)}; say others with --workers",)


def _never_ran(flow: str, store: Store, why: str) -> str:
    """The reason first; flows that ran are named only where one of them may have been meant."""
    known = sorted({run.flow for run in store.runs(limit=1000)})
    close = ", ".join(map(repr, difflib.get_close_matches(flow, known, n=3, cutoff=ALIKE)))
    mend = "" if "@optimized_flow" in why else ": run it once with @optimized_flow, then plan it"
    return (
        f"the flow {flow!r} cannot be followed: {why}. It has not finished a run yet, either{mend}"
        + (f"; near its name, and stored: {close}" if close else "")
    )


def _notes(kinds: int, unknown: int, inline: Mapping[str, int], caveat: str) -> list[str]:
    notes = ["graph traced, not seen: the flow's code was followed with stand-ins, no task ran"]
    if unknown:
        notes.append(
            f"of {words.plural(kinds, 'kind')} of task, {unknown} never ran, and nobody has said "
            f"how long they take: {GUESS.seconds:g} s is a guess; say it with estimates="
        )
    if caveat:
        notes.append(caveat)
    if inline:
        calls = ", ".join(f"{name} ({count}x)" for name, count in sorted(inline.items()))
        notes.append(f"not in the plan, as the flow's code runs it itself: {calls}")
    return notes
