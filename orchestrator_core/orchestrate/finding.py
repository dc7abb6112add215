"""Finding: what is known about a graph on workers like these, and how it is written down.

Written without names: tasks by their canonical places, workers by their places among all of the
crowd, so that another process, with other names, can read it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, replace

import msgspec
import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.execute.directives import Hold
from orchestrator_core.execute.measures.measures import Measures
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.signature import Signature
from orchestrator_core.orchestrate.experience import crowd_of
from orchestrator_core.orchestrate.judged import Judged
from orchestrator_core.plan.canonical import from_canonical, to_canonical
from orchestrator_core.plan.result import PlanResult

FORMAT = "orchestrator.finding/3"


@dataclass(frozen=True, slots=True)
class Refinement:
    """A plan, and what is done beside placing.

    Attributes:
        result: the schedule and its proof. measures: what belongs to it.
        thrifty: was it chosen because it holds few bytes?
        saves: part of the bytes that Dask alone would hold at once and this does not; 0 if that is
            not what it is for.
        remark: what people are to know about it; empty, or ends with a space.
    """

    result: PlanResult
    measures: Measures
    thrifty: bool = False
    saves: float = 0.0
    remark: str = ""


@dataclass(frozen=True, slots=True)
class Finding:
    """A refinement, for what costs it was found, and whether it is worth following.

    Attributes:
        cost_bucket: of these costs, see `costs.bucket`.
    """

    refinement: Refinement
    cost_bucket: str
    judged: Judged


class _Wire(msgspec.Struct, forbid_unknown_fields=True):
    """`result` is JSON of its own; `holds`: task, tasks to be sent, to be done, patience."""

    format: str
    result: str
    holds: list[tuple[int, list[int], list[int], float]]
    prefetch: bool
    thrifty: bool
    saves: float
    remark: str
    cost_bucket: str
    judged: Judged


def crowd_signature(cluster: Cluster) -> Signature:
    """Of the workers without links and names; those that look alike in the order of their names."""
    digest = hashlib.sha256(repr(crowd_of(cluster)).encode()).hexdigest()
    looks = [(w.kind, w.threads, w.memory, w.speed, w.name) for w in cluster.workers]
    return Signature(digest, np.array(sorted(range(len(looks)), key=looks.__getitem__), np.int64))


def encode_finding(found: Finding, instance: Instance, graph: Signature) -> bytes:
    """JSON of what was found for this instance; `graph` signs its graph."""
    refinement, workers = found.refinement, crowd_signature(instance.cluster)
    result = refinement.result
    schedule = to_canonical(result.schedule, instance.graph, instance.cluster, graph, workers)
    plain = replace(result, schedule=schedule, attempts=(), certificate=None)
    place = dict(zip(instance.graph.names, graph.place.tolist(), strict=True))
    return msgspec.json.encode(
        _Wire(
            format=FORMAT,
            result=plain.to_json().decode(),
            holds=_holds_to_wire(refinement.measures.holds, place),
            prefetch=refinement.measures.prefetch,
            thrifty=refinement.thrifty,
            saves=refinement.saves,
            remark=refinement.remark,
            cost_bucket=found.cost_bucket,
            judged=found.judged,
        )
    )


def decode_finding(text: bytes, instance: Instance, graph: Signature) -> Finding:
    """What `encode_finding` wrote, in the names of this instance.

    Raises:
        InvalidFormat, InvalidSchedule: if the text is no such JSON, or about another graph.
    """
    try:
        wire = msgspec.json.decode(text, type=_Wire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no finding in JSON ({FORMAT}): {error}") from None
    if wire.format != FORMAT:
        raise InvalidFormat(f"a finding of format {wire.format!r}; this version reads {FORMAT!r}")
    result = PlanResult.from_json(wire.result)
    workers = crowd_signature(instance.cluster)
    schedule = from_canonical(result.schedule, instance.graph, instance.cluster, graph, workers)
    measures = Measures(_holds_from_wire(wire.holds, instance, graph), wire.prefetch)
    result = replace(result, schedule=schedule)
    refinement = Refinement(result, measures, wire.thrifty, wire.saves, wire.remark)
    return Finding(refinement, wire.cost_bucket, wire.judged)


def _holds_to_wire(
    holds: Mapping[str, Hold], place: Mapping[str, int]
) -> list[tuple[int, list[int], list[int], float]]:
    return [
        (
            place[name],
            [place[str(key)] for key in hold.sent],
            [place[str(key)] for key in hold.done],
            hold.patience,
        )
        for name, hold in holds.items()
    ]


def _holds_from_wire(
    holds: list[tuple[int, list[int], list[int], float]], instance: Instance, graph: Signature
) -> dict[str, Hold]:
    names = [instance.graph.names[task] for task in graph.order.tolist()]
    try:
        return {
            names[held]: Hold(
                frozenset(names[place] for place in sent),
                frozenset(names[place] for place in done),
                patience,
            )
            for held, sent, done, patience in holds
        }
    except IndexError:
        raise InvalidFormat("a finding holds a task that the graph does not have") from None
