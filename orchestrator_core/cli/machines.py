"""The machines that were asked for on the command line, instead of those that are known."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from orchestrator_core.cli.target import read_cluster_file
from orchestrator_core.cli.workers import parse_workers, with_links
from orchestrator_core.graph.cluster import Cluster

EQUAL_WORKERS = 4
"""Workers that are assumed for a file that names no machines."""


@dataclass(frozen=True, slots=True)
class Machines:
    """What was typed; nothing, if equal to ``Machines()``.

    Attributes:
        workers: descriptions such as ``fast:speed=4``, or `cluster`: a file of a cluster.
        latency: seconds. bandwidth: bytes per second. Both of all links; None to leave them.
    """

    workers: tuple[str, ...] = ()
    cluster: Path | None = None
    latency: float | None = None
    bandwidth: float | None = None

    def asked(self) -> Cluster | None:
        """The workers that were described; None if none were.

        Raises:
            OrchestratorError: if a description or the file is none.
        """
        if self.cluster is not None:
            return read_cluster_file(self.cluster)
        return Cluster(parse_workers(self.workers)) if self.workers else None

    def linked(self, cluster: Cluster) -> Cluster:
        """The cluster with the links that were asked for.

        Raises:
            InvalidInput: for a bandwidth of 0.
        """
        return with_links(cluster, self.latency, self.bandwidth)
