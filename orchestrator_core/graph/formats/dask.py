"""Dask collections and graphs as a `TaskGraph`: what would be submitted, before it is.

Knows structure only: how long tasks take and how large their outputs are, a cost model must say.
The only module of the graph stage that imports Dask.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from typing import Any

from dask._task_spec import Alias, GraphNode, convert_legacy_graph
from dask.base import collections_to_expr, is_dask_collection
from dask.utils import key_split

from orchestrator_core.errors import InvalidGraph
from orchestrator_core.graph.task_graph import TaskGraph
from orchestrator_core.graph.validate import MAX_NAME


def graph_of_dask(work: Any) -> TaskGraph:
    """The graph of a Dask collection, several of them, or a low-level graph (a mapping).

    Collections are optimised as Dask does before it submits them. Names are the keys as text,
    kinds their prefixes (`dask.utils.key_split`). Futures of earlier work are no part of it.

    Raises:
        InvalidGraph: if `work` is none of these, or the graph has a cycle.
    """
    dsk = _low_level(work)
    names = _unique_names(dsk)
    place = {key: i for i, key in enumerate(dsk)}
    edges = [
        (place[dependency], i)
        for i, (key, node) in enumerate(dsk.items())
        for dependency in node.dependencies
        if dependency in place and not _points_to_itself(key, node)
    ]
    return TaskGraph.from_columns(
        names,
        kinds=[_printable(str(key_split(key))) or "Other" for key in dsk],
        producer=[a for a, _ in edges],
        consumer=[b for _, b in edges],
    )


def _low_level(work: Any) -> dict[Any, GraphNode]:
    if isinstance(work, Mapping) and not is_dask_collection(work):
        return dict(convert_legacy_graph(work))
    several = list(work) if isinstance(work, list | tuple | set) else [work]
    if not several or not all(is_dask_collection(one) for one in several):
        raise InvalidGraph(
            f"expected a Dask collection, a list of them, or a graph as a dict; found "
            f"{type(work).__name__}"
        )
    expression: Any = collections_to_expr(several).optimize()
    return dict(convert_legacy_graph(expression.__dask_graph__()))


def _points_to_itself(key: Any, node: GraphNode) -> bool:
    """An alias for its own key stands for a future of that key."""
    return isinstance(node, Alias) and node.target == key


def _unique_names(keys: Iterable[Any]) -> list[str]:
    """Keys as text; keys that would read the same (`1` and `"1"`) get their type as well."""
    taken: set[str] = set()
    names = []
    for key in keys:
        name = _printable(str(key))
        if name in taken or not name:
            name = _printable(f"{name} ({type(key).__name__})")
        while name in taken:
            name += "'"
        taken.add(name)
        names.append(name)
    return names


def _printable(text: str) -> str:
    """Without control characters; what is too long ends in a digest of all of it."""
    clean = "".join(c if c.isprintable() else "?" for c in text) if not text.isprintable() else text
    if len(clean) <= MAX_NAME - 8:
        return clean
    digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()
    return f"{clean[:800]}...{digest}"
