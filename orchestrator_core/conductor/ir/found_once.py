"""What is found out about a graph, which never changes, is found out once."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Concatenate, ParamSpec, TypeVar

from orchestrator_core.conductor.ir.graph import Graph

More = ParamSpec("More")
Found = TypeVar("Found")


def found_once(
    function: Callable[Concatenate[Graph, More], Found],
) -> Callable[Concatenate[Graph, More], Found]:
    """The same function, which keeps with each graph what it has said of it. All else that it is
    given must have a hash."""

    @functools.wraps(function)
    def wrapped(graph: Graph, /, *more: More.args, **named: More.kwargs) -> Found:
        key = (function, more, tuple(named.items()))
        if key not in graph.found:
            graph.found[key] = function(graph, *more, **named)
        known: Found = graph.found[key]
        return known

    return wrapped
