"""GraphBuilder: a task graph written down by hand, or one task at a time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from orchestrator_core.errors import InvalidGraph, InvalidInput
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.graph.task import Mode, Task, eligible_names, listed
from orchestrator_core.graph.task_graph import Demand, TaskGraph
from orchestrator_core.graph.text import shown

_PLAIN = Demand()
_INFINITY = float("inf")
_UNKNOWN = float("nan")


class GraphBuilder:
    """Collects tasks and edges; `done()` checks them and freezes the graph.

    ::

        g = TaskGraph.build()
        g.task("load", seconds=2.0, output_bytes=1e6)
        g.task("train", seconds=60.0, resources={"GPU": 1}, after=["load"])
        graph = g.done()
    """

    def __init__(self) -> None:
        self._index: dict[str, int] = {}
        self._kinds: list[str] = []
        self._tasks: dict[str, list[float]] = {
            name: [] for name in ("output_bytes", "release", "deadline", "due", "weight", "count")
        }
        self._columns = tuple(self._tasks.values())
        self._checkpoints: list[tuple[float, ...]] = []
        self._features: list[Amounts] = []
        self._mode_count: list[int] = []
        self._threads: list[int] = []
        self._memory: list[float] = []
        self._seconds: list[float] = []
        self._demands: list[Demand] = []
        self._producer: list[int] = []
        self._consumer: list[int] = []
        self._nbytes: list[float] = []
        self._multiplicity: list[int] = []

    def task(
        self,
        name: str,
        *,
        kind: str = "",
        seconds: float | None = None,
        threads: int = 1,
        memory: float = 0.0,
        resources: Mapping[str, float] = NOTHING,
        output_bytes: float = 0.0,
        release: float = 0.0,
        deadline: float | None = None,
        due: float | None = None,
        weight: float = 1.0,
        eligible: Iterable[str] | None = None,
        count: int = 1,
        checkpoints: Iterable[float] = (),
        modes: Iterable[Mode] = (),
        consumes: Mapping[str, float] = NOTHING,
        features: Mapping[str, float] = NOTHING,
        after: Iterable[str] = (),
    ) -> str:
        """Add a task (fields as in `Task`) and an edge from each task in `after`; returns its name.

        Raises:
            InvalidGraph: if the name is taken, or a task of `after` is not there yet; if `after`,
                `eligible`, `modes`, `resources`, `consumes` or `features` are not what they have to
                be. Then nothing is added. Numbers are checked by `done`.
        """
        self._check_name(name)
        try:
            before, pauses = listed("after", after), listed("checkpoints", checkpoints, "(0.5,)")
            allowed = None if eligible is None else eligible_names(eligible)
            ways = _modes(modes)
            demand = _demand("", resources, allowed, consumes)
            numbers = _amounts("features", features) if features else NOTHING
        except InvalidInput as error:
            raise InvalidGraph(f"task {name!r}: {error}") from None
        for producer in before:
            if producer != name:  # `done` has a better word for an edge to itself
                self._known(producer, producer, name)
        if ways:
            self._refuse_both(name, seconds, threads, memory, resources, consumes)
        self._register(name, kind)
        for mode in ways:
            self._mode(mode, allowed)
        if not ways:
            self._threads.append(threads)
            self._memory.append(memory)
            self._seconds.append(_UNKNOWN if seconds is None else seconds)
            self._demands.append(demand)
        self._mode_count.append(len(ways) or 1)
        outputs, releases, deadlines, dues, weights, counts = self._columns
        outputs.append(output_bytes)
        releases.append(release)
        deadlines.append(_INFINITY if deadline is None else deadline)
        dues.append(_INFINITY if due is None else due)
        weights.append(weight)
        counts.append(count)
        self._checkpoints.append(pauses)
        self._features.append(numbers)
        for producer in before:
            self.edge(producer, name)
        return name

    def add(self, task: Task) -> str:
        """Add a task that exists as a value; returns its name."""
        fields = {name: getattr(task, name) for name in Task.__dataclass_fields__ if name != "name"}
        return self.task(task.name, **fields)

    def edge(
        self, producer: str, consumer: str, nbytes: float | None = None, multiplicity: int = 1
    ) -> None:
        """Add an edge (fields as in `Edge`).

        Raises:
            InvalidGraph: if one of the tasks is not there yet.
        """
        self._producer.append(self._known(producer, producer, consumer))
        self._consumer.append(self._known(consumer, producer, consumer))
        self._nbytes.append(_UNKNOWN if nbytes is None else nbytes)
        self._multiplicity.append(multiplicity)

    def done(self) -> TaskGraph:
        """The frozen graph.

        Raises:
            InvalidGraph: naming the first task or edge that cannot be.
        """
        return TaskGraph.from_columns(
            tuple(self._index),
            kinds=self._kinds,
            checkpoints=self._checkpoints,
            features=self._features,
            mode_count=self._mode_count,
            threads=self._threads,
            memory=self._memory,
            seconds=self._seconds,
            demands=self._demands,
            producer=self._producer,
            consumer=self._consumer,
            nbytes=self._nbytes,
            multiplicity=self._multiplicity,
            **self._tasks,
        )

    def _check_name(self, name: str) -> None:
        if not isinstance(name, str):
            raise InvalidGraph(
                f"a task is named {name!r}, a {type(name).__name__}; names are strings: str(...)"
            )
        if name in self._index:
            raise InvalidGraph(
                f"two tasks are named {name!r}; names are unique: rename one of them"
            )

    def _register(self, name: str, kind: str) -> None:
        self._index[name] = len(self._index)
        self._kinds.append(kind or name)

    def _known(self, name: str, producer: str, consumer: str) -> int:
        position = self._index.get(name) if isinstance(name, str) else None
        if position is None:
            raise InvalidGraph(
                f"edge {shown(producer)} -> {shown(consumer)}: there is no task {shown(name)}; "
                "add the task before its edges"
            )
        return position

    def _mode(self, mode: Mode, allowed: tuple[str, ...] | None) -> None:
        self._threads.append(mode.threads)
        self._memory.append(mode.memory)
        self._seconds.append(_UNKNOWN if mode.seconds is None else mode.seconds)
        eligible = allowed if mode.eligible is None else mode.eligible
        self._demands.append(
            Demand(mode.name, Amounts(mode.resources), eligible, Amounts(mode.consumes))
        )

    @staticmethod
    def _refuse_both(
        name: str,
        seconds: float | None,
        threads: int,
        memory: float,
        resources: Mapping[str, float],
        consumes: Mapping[str, float],
    ) -> None:
        if seconds is not None or threads != 1 or memory or resources or consumes:
            raise InvalidGraph(
                f"task {name!r} gives modes and also seconds, threads, memory, resources or "
                "consumes; with modes, state these in each mode"
            )


def _modes(modes: Iterable[Mode]) -> tuple[Mode, ...]:
    ways = listed("modes", modes, "(Mode(seconds=1),)")
    wrong = next((way for way in ways if not isinstance(way, Mode)), None)
    if wrong is not None:
        raise InvalidGraph(f"{shown(wrong)} is no Mode; give modes=(Mode(seconds=1),)")
    return ways


def _demand(
    name: str,
    resources: Mapping[str, float],
    eligible: tuple[str, ...] | None,
    consumes: Mapping[str, float],
) -> Demand:
    """A demand that asks for nothing is shared."""
    if not resources and eligible is None and not consumes:
        return _PLAIN
    return Demand(name, _amounts("resources", resources), eligible, _amounts("consumes", consumes))


def _amounts(what: str, amounts: Mapping[str, float]) -> Amounts:
    try:
        return Amounts(amounts)
    except InvalidInput as error:
        raise InvalidGraph(f"{what}: {error}") from None
