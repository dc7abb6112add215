"""Readers of workflow and benchmark files: each gives a graph, and the machines if it states any.

Formats: `wfcommons` (WfFormat JSON), `stg`, `psplib` (.sm, .mm), `patterson` (.rcp), `jsplib`, and
`orchestrator` (what `TaskGraph.to_json` wrote). Any of them may be packed with gzip. A Dask
collection is no file: see `orchestrator_core.graph.formats.dask`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from orchestrator_core.errors import InvalidFormat, InvalidInput
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.formats import jsplib, patterson, psplib, stg, wfcommons
from orchestrator_core.graph.formats.sniff import guess
from orchestrator_core.graph.formats.source import Source
from orchestrator_core.graph.task_graph import TaskGraph

__all__ = ["FORMATS", "Source", "read", "read_cluster", "read_workflow"]


def _own(source: Source) -> tuple[TaskGraph, Cluster | None]:
    return TaskGraph.from_json(source.data), None


_READERS: dict[str, Callable[[Source], tuple[TaskGraph, Cluster | None]]] = {
    "wfcommons": wfcommons.read,
    "stg": stg.read,
    "psplib": psplib.read,
    "patterson": patterson.read,
    "jsplib": jsplib.read,
    "orchestrator": _own,
}

FORMATS = tuple(_READERS)
"""The names that `format` may have."""


def read_workflow(path: str | os.PathLike[str], format: str | None = None) -> TaskGraph:
    """The graph in a file; seconds and bytes, a benchmark's unit of time read as a second.

    `format` is one of `FORMATS`; None tells it from the file's name and first lines. Dummy tasks
    at the two ends of a benchmark (no duration, no demand) are left out: its makespans stay.

    Raises:
        InvalidFormat: if the file is not in that format, or in none; it names file and line.
        InvalidInput: if there is no such file; it is a FileNotFoundError, too.
        OSError: if it may not be read.
    """
    return read(Source.load(path), format)[0]


def read_cluster(path: str | os.PathLike[str], format: str | None = None) -> Cluster | None:
    """The machines that the same file states, or None where it states none.

    A project (`psplib`, `patterson`) is one worker with its resources, a job shop a worker for
    each machine, a WfFormat instance the machines on which it ran; an STG graph states none.

    Raises:
        InvalidFormat, InvalidInput, OSError: as `read_workflow`.
    """
    return read(Source.load(path), format)[1]


def read(source: Source, format: str | None = None) -> tuple[TaskGraph, Cluster | None]:
    """Both of what `read_workflow` and `read_cluster` give, of a file that was loaded.

    Raises:
        InvalidFormat: as they do.
    """
    possible = ", ".join(FORMATS)
    if format is not None and format not in _READERS:
        raise InvalidFormat(f"there is no format {format!r}; the formats are {possible}")
    name = format or guess(source)
    if name is None:
        raise source.error(
            f"in none of the formats {possible}; it begins with {source.data[:24]!r}. "
            "If it is one of them, name it: format=..."
        )
    try:
        return _READERS[name](source)
    except InvalidFormat as error:
        if str(error).startswith(source.path):
            raise
        raise source.error(str(error)) from None
    except InvalidInput as error:
        raise source.error(f"read as {name}: {error}") from None
