"""Instances as JSON: strict, data only; infinity is null, equal rows are written once."""

from __future__ import annotations

import math

import msgspec
import numpy as np

from orchestrator_core.costs.instance import Instance
from orchestrator_core.errors import InvalidFormat
from orchestrator_core.graph.cluster_wire import ClusterWire, cluster_from_wire, cluster_to_wire
from orchestrator_core.graph.wire import GraphWire, graph_from_wire, graph_to_wire

FORMAT = "orchestrator.instance/1"


class InstanceWire(msgspec.Struct, forbid_unknown_fields=True):
    """`rows` are the different rows of seconds; `row_of` says which one each mode has."""

    format: str
    graph: GraphWire
    cluster: ClusterWire
    rows: list[list[float | None]]
    row_of: list[int]


def encode_instance(instance: Instance) -> bytes:
    rows, row_of = np.unique(instance.seconds, axis=0, return_inverse=True)
    return msgspec.json.encode(
        InstanceWire(
            FORMAT,
            graph_to_wire(instance.graph),
            cluster_to_wire(instance.cluster),
            [[x if math.isfinite(x) else None for x in row] for row in rows.tolist()],
            row_of.ravel().tolist(),
        )
    )


def decode_instance(text: str | bytes) -> Instance:
    try:
        wire = msgspec.json.decode(text, type=InstanceWire)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise InvalidFormat(f"no instance in JSON ({FORMAT}): {error}") from None
    if wire.format != FORMAT:
        raise InvalidFormat(f"an instance of format {wire.format!r}; this version reads {FORMAT!r}")
    cluster = cluster_from_wire(wire.cluster)
    if any(len(row) != len(cluster) for row in wire.rows) or any(
        not 0 <= k < len(wire.rows) for k in wire.row_of
    ):
        raise InvalidFormat("the instance's rows of seconds do not fit its workers or its modes")
    rows = np.array([[math.inf if x is None else x for x in row] for row in wire.rows])
    rows = rows.reshape(len(wire.rows), len(cluster))
    return Instance(graph_from_wire(wire.graph), cluster, rows[wire.row_of])
