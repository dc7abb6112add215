"""WfCommons instances (WfFormat JSON, schema 1.0 to 1.6): real executions of workflows.

A task's kind is the program that it ran, its seconds are what was measured, its output is all
files that it wrote; an edge carries the files that its producer wrote and its consumer read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import msgspec

from orchestrator_core.graph.cluster import Cluster, Worker
from orchestrator_core.graph.formats.source import Source
from orchestrator_core.graph.formats.wfcommons_wire import (
    CommandWire,
    ExecutedTaskWire,
    InstanceWire,
    LinkedFileWire,
    MachineWire,
    OldTaskWire,
    SpecificationWire,
    WorkflowWire,
)
from orchestrator_core.graph.task_graph import TaskGraph

_PROGRAM = re.compile(r"[\w./+:-]{2,200}")
_NUMBERED = re.compile(r"[_-](?:ID)?\d+$")
_INTERPRETERS = {"bash", "sh", "env", "python", "python3", "java", "perl", "Rscript"}
_BYTE = re.compile(r"\(byte (\d+)\)")
_KILOBYTE = 1000.0


@dataclass(slots=True)
class _Record:
    """A task of any schema. `inputs` and `outputs` are files with their bytes."""

    name: str
    kind: str
    seconds: float | None
    cores: float | None
    memory: float | None
    parents: list[str]
    children: list[str]
    inputs: dict[str, float] = field(default_factory=dict)
    outputs: dict[str, float] = field(default_factory=dict)


def read(source: Source) -> tuple[TaskGraph, Cluster | None]:
    """The graph; and the machines as workers, if the file states them.

    `threads` is 1 unless `coreCount` says more. What the file does not measure stays unknown.

    Raises:
        InvalidFormat: naming the field, what was expected and what was found.
    """
    workflow = _decode(source).workflow
    old = workflow.tasks if workflow.tasks is not None else workflow.jobs
    if workflow.specification is not None:
        records = _recent(workflow.specification, workflow)
        references = {record.name: record.name for record in records}
    elif old is not None:
        records = [_old(task, place) for place, task in enumerate(old)]
        references = _references(old, records)
    else:
        raise source.error(
            "expected `workflow.specification.tasks` (schema 1.5 and later) or `workflow.tasks`, "
            "found neither"
        )
    pairs = _pairs(source, records, references)
    if old is not None:
        pairs |= _pairs_by_files(records, pairs)
    machines = workflow.execution.machines if workflow.execution else workflow.machines
    return _graph(records, pairs), _cluster(machines)


def _decode(source: Source) -> InstanceWire:
    try:
        return msgspec.json.decode(source.data, type=InstanceWire)
    except msgspec.ValidationError as error:
        raise source.error(f"no WfFormat instance: {error}") from None
    except (msgspec.DecodeError, UnicodeError) as error:
        at = _BYTE.search(str(error))
        end = int(at[1]) if at else len(source.data)
        line = source.data.count(b"\n", 0, end) + 1
        raise source.error(f"no JSON: {error}", line) from None
    except RecursionError:
        raise source.error("no WfFormat instance: the JSON is nested too deeply") from None


def _recent(specification: SpecificationWire, workflow: WorkflowWire) -> list[_Record]:
    size = {file.id: file.sizeInBytes for file in specification.files}
    executed = {task.id: task for task in workflow.execution.tasks} if workflow.execution else {}
    records = []
    for task in specification.tasks:
        run = executed.get(task.id) or ExecutedTaskWire(task.id)
        records.append(
            _Record(
                name=task.id,
                kind=_kind(task.name or task.id, run.command),
                seconds=run.runtimeInSeconds,
                cores=run.coreCount,
                memory=run.memoryInBytes,
                parents=task.parents,
                children=task.children,
                inputs={name: size.get(name, 0.0) for name in task.inputFiles},
                outputs={name: size.get(name, 0.0) for name in task.outputFiles},
            )
        )
    return records


def _old(task: OldTaskWire, place: int) -> _Record:
    bytes_used = task.memoryInBytes
    if bytes_used is None and task.memory is not None:
        bytes_used = task.memory * _KILOBYTE
    own = task.name if not task.id or task.id in task.name else f"{task.name}_{task.id}"
    return _Record(
        name=own or f"task{place}",
        kind=task.category or _kind(task.name, task.command),
        seconds=task.runtime if task.runtimeInSeconds is None else task.runtimeInSeconds,
        cores=task.cores,
        memory=bytes_used,
        parents=task.parents,
        children=task.children,
        inputs=_sizes(file for file in task.files if file.link.lower() == "input"),
        outputs=_sizes(file for file in task.files if file.link.lower() != "input"),
    )


def _sizes(files: Iterable[LinkedFileWire]) -> dict[str, float]:
    return {
        file.path + file.name: (file.size if file.sizeInBytes is None else file.sizeInBytes) or 0.0
        for file in files
    }


def _kind(name: str, command: CommandWire | None) -> str:
    """The program if it is one word that tells tasks apart, else the name without its number."""
    program = (command.program or "") if command else ""
    if _PROGRAM.fullmatch(program):
        short = program.rstrip("/").rsplit("/", 1)[-1]
        if short and short not in _INTERPRETERS:
            return short
    return _NUMBERED.sub("", name) or name


def _references(old: list[OldTaskWire], records: list[_Record]) -> dict[str, str]:
    """What parents may be called by: the task's name, its id, or both together."""
    known: dict[str, str] = {}
    for task, record in zip(old, records, strict=True):
        for reference in (record.name, task.name, task.id):
            known.setdefault(reference, record.name)
    return known


def _pairs(
    source: Source, records: list[_Record], references: dict[str, str]
) -> dict[tuple[str, str], None]:
    """(producer, consumer) as told by parents and by children; either end may be silent."""

    def named(reference: str, record: _Record, role: str) -> str:
        if reference not in references:
            raise source.error(
                f"task {record.name!r} names the {role} {reference!r}; there is no such task among "
                f"the {len(records)}"
            )
        return references[reference]

    def told() -> Iterator[tuple[str, str]]:
        for record in records:
            for parent in record.parents:
                yield named(parent, record, "parent"), record.name
            for child in record.children:
                yield record.name, named(child, record, "child")

    return dict.fromkeys(told())


def _pairs_by_files(
    records: list[_Record], told: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], None]:
    """Old instances may tell dependencies by files alone, all of them or those of some tasks: who
    has no parent comes after the writers of what it reads, but for those that come after it."""
    children: dict[str, list[str]] = {}
    for producer, consumer in told:
        children.setdefault(producer, []).append(consumer)
    has_parent = {consumer for consumers in children.values() for consumer in consumers}
    writer: dict[str, str] = {}
    for record in records:
        for name in record.outputs:
            writer.setdefault(name, record.name)
    found: dict[tuple[str, str], None] = {}
    for record in records:
        if record.name not in has_parent:
            writers = {writer[name]: None for name in record.inputs if name in writer}
            later = _at_or_after(record.name, children) if writers else set()
            found |= {(each, record.name): None for each in writers if each not in later}
    return found


def _at_or_after(name: str, children: dict[str, list[str]]) -> set[str]:
    """The task and all that need it, directly or not."""
    found, todo = {name}, [name]
    while todo:
        new = [child for child in children.get(todo.pop(), ()) if child not in found]
        found.update(new)
        todo += new
    return found


def _graph(records: list[_Record], pairs: Iterable[tuple[str, str]]) -> TaskGraph:
    builder = TaskGraph.build()
    for record in records:
        builder.task(
            record.name,
            kind=record.kind,
            seconds=record.seconds,
            threads=_at_least_one(record.cores),
            memory=record.memory or 0.0,
            output_bytes=sum(record.outputs.values()),
        )
    by_name = {record.name: record for record in records}
    for producer, consumer in pairs:
        written, used = by_name[producer].outputs, by_name[consumer].inputs
        builder.edge(producer, consumer, sum(written[name] for name in used if name in written))
    return builder.done()


def _cluster(machines: list[MachineWire]) -> Cluster | None:
    """A worker for each machine; workers of as many threads and as much memory share a kind.

    The stated clock frequency is what a moment showed, not a speed: each worker has speed 1. The
    file states no network: links are free of delay.
    """
    workers = {machine.nodeName: _worker(machine) for machine in machines}
    return Cluster(workers.values()) if workers else None


def _worker(machine: MachineWire) -> Worker:
    cpu = machine.cpu
    threads = _at_least_one((cpu.count if cpu.coreCount is None else cpu.coreCount) if cpu else 1)
    memory = machine.memoryInBytes
    if memory is None and machine.memory is not None:
        memory = machine.memory * _KILOBYTE
    if memory is None:
        return Worker(machine.nodeName, kind=f"{threads}t", threads=threads)
    kind = f"{threads}t-{memory / 1e9:.0f}g"
    return Worker(machine.nodeName, kind=kind, threads=threads, memory=memory)


def _at_least_one(cores: float | None) -> int:
    return max(1, round(cores)) if cores is not None and cores < 1e9 else 1
