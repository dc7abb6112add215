"""What a submitted graph looks like, taken from the scheduler's live tasks.

`take` runs on the event loop: it copies what may change there, and nothing else. Names, hints and
the `TaskGraph` are made from the copy when they are first asked for, in whatever thread.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import cached_property
from operator import attrgetter
from typing import TYPE_CHECKING

import numpy as np

from orchestrator_core.execute.dask.graphs.hinted import columns_of
from orchestrator_core.execute.dask.graphs.hints import ANNOTATION, Hint, objective_of, read_hints
from orchestrator_core.execute.dask.graphs.inputs import Inputs
from orchestrator_core.execute.dask.graphs.keyed import Keyed
from orchestrator_core.execute.dask.graphs.names import distinct, stable_names
from orchestrator_core.execute.dask.graphs.pins import pins_of
from orchestrator_core.execute.dask.graphs.stored import KIND, Stored, stored_of
from orchestrator_core.execute.directives import Key
from orchestrator_core.graph.task_graph import Demand, TaskGraph
from orchestrator_core.graph.text import as_name

if TYPE_CHECKING:
    from distributed.scheduler import Scheduler, TaskState

    from orchestrator_core.execute.dask.workers.roster import Roster

FLOW_KINDS = 3
"""Kinds that make up the name of a flow."""


@dataclass(frozen=True, eq=False)
class Snapshot(Keyed):
    """The new tasks of a graph; n tasks.

    Tasks that run already or whose output exists are left out: their outputs count as present.
    Tasks that a user pinned, actors and peer-to-peer shuffles are part of the graph, since time
    passes while they run, but not of `plannable`: nobody but Dask decides about them.

    Attributes:
        keys: (n,) Dask's names, the most urgent first. prefixes: (n,) Dask's key prefixes.
        inputs: (n,) keys that each task reads; those that are none of `keys` are there already.
        pins: what is asked for the tasks that no plan may place.
        stated: the users' annotations for us.
        stored: the inputs that are there already, large, and not everywhere; by their keys.
        elapsed: seconds since the graph arrived, from when dates in hints count.
        known: (n,) its names where they are known, and title its flow: those of a larger graph.
    """

    keys: tuple[Key, ...]
    prefixes: tuple[str, ...]
    inputs: Sequence[Sequence[Key]]
    pins: Mapping[Key, Demand] = field(default_factory=dict)
    stated: Mapping[Key, object] = field(default_factory=dict)
    stored: Mapping[Key, Stored] = field(default_factory=dict)
    elapsed: float = 0.0
    known: tuple[str, ...] = ()
    title: str = ""

    def __len__(self) -> int:
        return len(self.keys)

    def __getstate__(self) -> dict[str, object]:
        """What travels: not what can be found again, and not the users' own objects."""
        state: dict[str, object] = {each.name: getattr(self, each.name) for each in fields(self)}
        return state | {"stated": {}, "hints": self.hints}

    @cached_property
    def names(self) -> tuple[str, ...]:
        """(n,) unique names, the same in each run as far as they can be."""
        return self.known or stable_names(self.keys, self.inputs)

    @cached_property
    def kinds(self) -> tuple[str, ...]:
        """(n,) what durations are learned about: Dask's prefixes, where no hint says otherwise."""
        if not self.hints:
            return self.prefixes
        none = Hint()
        return tuple(
            self.hints.get(key, none).kind or prefix
            for key, prefix in zip(self.keys, self.prefixes, strict=True)
        )

    @cached_property
    def hints(self) -> Mapping[Key, Hint]:
        """What users say about tasks."""
        return read_hints(self.stated) if self.stated else {}

    @cached_property
    def wishes(self) -> Mapping[str, str]:
        """What the graph asks of the advisor: the objective, if it names one."""
        objective = objective_of(self.hints.values())
        return {} if objective is None else {"objective": objective}

    @cached_property
    def graph(self) -> TaskGraph:
        """The graph; durations and sizes that no hint states are left to a cost model."""
        return self._graph({})

    @cached_property
    def there(self) -> Mapping[Key, str]:
        """The names of the stored inputs in `with_stored`."""
        if not self.stored:
            return {}
        read = {source for sources in self.inputs for source in sources}
        keys = sorted(self.stored.keys() & read, key=str)
        names = [f"{KIND} {name}" for name in stable_names(keys, [()] * len(keys))]
        return dict(zip(keys, distinct((*self.names, *names))[len(self) :], strict=True))

    @cached_property
    def with_stored(self) -> TaskGraph:
        """The graph with its stored inputs, as tasks without length that can run only where these
        are; they come first."""
        return self._graph(self.there) if self.stored else self.graph

    def _graph(self, there: Mapping[Key, str]) -> TaskGraph:
        s, keys = len(there), (*there, *self.keys)
        place = {key: i for i, key in enumerate(keys)}
        edges = [
            (place[source], i)
            for i, sources in enumerate(self.inputs, s)
            for source in sources
            if source in place
        ]
        stored = [self.stored[key] for key in there]
        pins = {key: Demand(eligible=self.stored[key].workers) for key in there}
        columns = columns_of(keys, self.hints, {**self.pins, **pins}, self.elapsed)
        if stored:
            columns.setdefault("seconds", np.full(len(keys), np.nan))[:s] = 0.0
            columns.setdefault("output_bytes", np.zeros(len(keys)))[:s] = [x.nbytes for x in stored]
        return TaskGraph.from_columns(
            (*there.values(), *self.names),
            kinds=(*[KIND] * s, *self.kinds),
            producer=[a for a, _ in edges],
            consumer=[b for _, b in edges],
            **columns,
        )

    @cached_property
    def plannable(self) -> frozenset[Key]:
        """The keys that a plan may place."""
        return frozenset(self.keys).difference(self.pins)

    @property
    def n_plannable(self) -> int:
        """How many tasks a plan may place."""
        return len(self.keys) - len(self.pins)

    def is_of(self, graph: TaskGraph) -> bool:
        """Has the graph these tasks and the stored inputs, and no others?"""
        own = graph.index.keys() - self.there.values() if self.there else graph.index.keys()
        return own == self.key_of.keys() and len(graph) == len(self) + len(self.there)

    @property
    def is_named(self) -> bool:
        """Were the names asked for already? Making them takes microseconds for each task."""
        return "names" in vars(self) and "kinds" in vars(self)

    def label(self, key: Key) -> tuple[str, str]:
        """Name and kind of a task; the key itself and its prefix until it has a name.

        Raises:
            KeyError: if the key is not of this graph.
        """
        place = self.place[key]
        if self.is_named:
            return self.names[place], self.kinds[place]
        return str(key), self.prefixes[place]

    @cached_property
    def flow(self) -> str:
        """The most frequent kinds, joined: ``"read-csv+sum+merge"``."""
        if self.title:
            return self.title
        counted = sorted(Counter(self.kinds).items(), key=lambda item: (-item[1], item[0]))
        return "+".join(kind for kind, _ in counted[:FLOW_KINDS])

    def part(
        self,
        keys: Container[Key],
        elapsed: float = 0.0,
        stored: Mapping[Key, Stored] | None = None,
    ) -> Snapshot:
        """Of those of these tasks alone, by the same names, if they have names; `elapsed` seconds
        after this snapshot was taken, when these inputs are there."""
        places = [i for i, key in enumerate(self.keys) if key in keys]
        return Snapshot(
            keys=tuple([self.keys[i] for i in places]),
            prefixes=tuple([self.prefixes[i] for i in places]),
            inputs=[self.inputs[i] for i in places],
            pins={key: demand for key, demand in self.pins.items() if key in keys},
            stated={key: stated for key, stated in self.stated.items() if key in keys},
            stored=self.stored if stored is None else stored,
            elapsed=self.elapsed + elapsed,
            known=tuple([self.names[i] for i in places]) if "names" in vars(self) else (),
            title=self.flow,
        )


def take(
    scheduler: Scheduler, keys: Iterable[Key], wanted: Iterable[Key], roster: Roster
) -> Snapshot:
    """The snapshot of those of `keys` that will now be computed because `wanted` are.

    In the order of Dask's own priorities, by which simulations of it go, too: that of `keys` is
    that of sets, in which the longest chain may come last by chance.
    """
    states = sorted(_to_compute(scheduler, keys, wanted), key=attrgetter("priority"))
    return Snapshot(
        keys=tuple([state.key for state in states]),
        prefixes=tuple([as_name(state.prefix.name) for state in states]),
        inputs=Inputs(states),
        pins=pins_of(states, scheduler, roster),
        stated=stated_of(states),
        stored=stored_of(states, roster),
    )


def stated_of(states: Iterable[TaskState]) -> dict[Key, object]:
    """The users' annotations for us."""
    return {
        state.key: state.annotations[ANNOTATION]
        for state in states
        if state.annotations and ANNOTATION in state.annotations
    }


def _to_compute(
    scheduler: Scheduler, keys: Iterable[Key], wanted: Iterable[Key]
) -> list[TaskState]:
    tasks: Mapping[Key, TaskState] = scheduler.tasks  # type: ignore[assignment]
    states = [tasks[key] for key in keys]
    # Dask went from the wanted keys to these: where nothing is there yet, all of them are needed.
    if {state.state for state in states} <= {"released"}:
        return states
    needed = _needed(scheduler, wanted)
    return [state for state in states if state.key in needed]


def _needed(scheduler: Scheduler, wanted: Iterable[Key]) -> dict[Key, TaskState]:
    """What nobody has begun and an output is missing of, from the wanted keys backwards."""
    tasks: Mapping[Key, TaskState] = scheduler.tasks  # type: ignore[assignment]
    found = [tasks[key] for key in wanted if key in tasks]
    needed: dict[Key, TaskState] = {}
    while found:
        state = found.pop()
        if state.state == "released" and state.key not in needed:
            needed[state.key] = state
            found.extend(state.dependencies)
    return needed
