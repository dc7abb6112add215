"""PSPLIB (Kolisch and Sprecher 1997; also MMLIB): .sm, one mode, and .mm, several modes a task.

Titled sections between lines of asterisks. Renewable resources R1, R2, ... are the worker's;
non-renewable ones N1, N2, ... are the cluster's stock, which modes consume.
"""

from __future__ import annotations

import re
from typing import NamedTuple

from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.graph.formats.activities import Activity, amounts, graph_of, project
from orchestrator_core.graph.formats.source import Source, Words
from orchestrator_core.graph.task import Mode
from orchestrator_core.graph.task_graph import TaskGraph

_NUMBERS, _DIGIT = re.compile(r"[\s\d.+-]+"), re.compile(r"\d")
_PRECEDENCE, _REQUESTS, _AVAILABLE = (
    "PRECEDENCERELATIONS",
    "REQUESTS/DURATIONS",
    "RESOURCEAVAILABILITIES",
)
_LONGEST_LINE = 100_000


class _Sizes(NamedTuple):
    activities: int
    renewable: int
    stock: int


def read(source: Source) -> tuple[TaskGraph, Cluster | None]:
    """The graph without dummy ends, a unit of time read as a second, and the project as cluster.

    Raises:
        InvalidFormat: naming the line, what was expected and what was found.
    """
    lines = list(source.lines())
    sizes = _sizes(source, lines)
    mode_counts, edges = _precedence(_section(source, lines, _PRECEDENCE), sizes.activities)
    activities = _requests(_section(source, lines, _REQUESTS), mode_counts, sizes)
    words = _section(source, lines, _AVAILABLE)
    capacities = [words.integer(f"the capacity of R{k + 1}") for k in range(sizes.renewable)]
    stock = [words.integer(f"the stock of N{k + 1}") for k in range(sizes.stock)]
    graph = graph_of(activities, edges, "activity")
    return graph, project(graph, capacities, stock)


def _sizes(source: Source, lines: list[tuple[int, str]]) -> _Sizes:
    """The counts that the head of the file states."""
    wanted = {"jobs": 1, "renewable": 0, "nonrenewable": 0, "doubly constrained": 0}
    found: dict[str, int] = {}
    for number, text in lines:
        label, colon, value = text.partition(":")
        name = label.strip(" -\t").split("(")[0].strip().lower() if colon else ""
        if name in wanted and name not in found:
            words = Words(source, [(number, value)])
            found[name] = words.integer(f"the number after {name!r}", least=wanted[name])
    for name in wanted:
        if name not in found:
            raise source.error(f"expected a line '{name} ... : <number>', found none")
    if found["doubly constrained"]:
        raise source.error(
            f"states {found['doubly constrained']} doubly constrained resources; only renewable "
            "and nonrenewable ones are read: state each of them as one of both"
        )
    return _Sizes(found["jobs"], found["renewable"], found["nonrenewable"])


def _section(source: Source, lines: list[tuple[int, str]], title: str) -> Words:
    """The numbers between a title and the next line of asterisks."""
    inside: list[tuple[int, str]] | None = None
    for number, text in lines:
        if inside is None:
            if text.upper().replace(" ", "").strip().startswith(title):
                inside = []
        elif text.startswith("****"):
            break
        elif len(text) < _LONGEST_LINE and _NUMBERS.fullmatch(text) and _DIGIT.search(text):
            inside.append((number, text))
    if inside is None:
        raise source.error(f"expected a section {title!r}, found none; was the file cut off?")
    return Words(source, inside)


def _precedence(words: Words, n: int) -> tuple[list[int], list[tuple[int, int]]]:
    """How many modes each activity has, and who comes before whom, by position."""
    mode_counts: list[int] = []
    edges: list[tuple[int, int]] = []
    for i in range(n):
        words.integer(f"the number {i + 1}", least=i + 1, most=i + 1)
        mode_counts.append(words.integer(f"activity {i + 1}'s number of modes", 1, 10_000))
        for _ in range(words.integer(f"activity {i + 1}'s number of successors", most=n)):
            successor = words.integer(f"a successor of activity {i + 1}", least=1, most=n)
            edges.append((i, successor - 1))
    words.end(f"activity {n}, the last one of the precedence relations")
    return mode_counts, edges


def _requests(words: Words, mode_counts: list[int], sizes: _Sizes) -> list[Activity]:
    activities = []
    for number, count in enumerate(mode_counts, start=1):
        words.integer(f"the number {number}", least=number, most=number)
        modes = tuple(_mode(words, number, mode, sizes) for mode in range(1, count + 1))
        activities.append(Activity(number, modes))
    words.end(f"activity {len(mode_counts)}, the last one of the requests")
    return activities


def _mode(words: Words, number: int, mode: int, sizes: _Sizes) -> Mode:
    label = f"activity {number}, mode {mode}"
    words.integer(f"the mode number {mode} of activity {number}", least=mode, most=mode)
    seconds = words.number(f"the duration of {label}")
    needs = [words.integer(f"R{k + 1} of {label}") for k in range(sizes.renewable)]
    taken = [words.integer(f"N{k + 1} of {label}") for k in range(sizes.stock)]
    return Mode(
        name=f"mode {mode}",
        seconds=seconds,
        resources=amounts("R", needs),
        consumes=amounts("N", taken),
    )
