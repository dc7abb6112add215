"""WfFormat as it lies in the file: the fields that are read, of schema 1.0 to 1.6.

Since 1.5 tasks are told in two parts, specification and execution; before, in one list, `tasks`
(1.3, 1.4) or `jobs` (up to 1.2), with other names and units for some fields.
https://github.com/wfcommons/WfFormat
"""

from __future__ import annotations

import msgspec


class FileWire(msgspec.Struct):
    id: str
    sizeInBytes: float = 0.0


class CommandWire(msgspec.Struct):
    program: str | None = None


class SpecifiedTaskWire(msgspec.Struct):
    id: str
    name: str = ""
    parents: list[str] = []
    children: list[str] = []
    inputFiles: list[str] = []
    outputFiles: list[str] = []


class ExecutedTaskWire(msgspec.Struct):
    id: str
    runtimeInSeconds: float | None = None
    coreCount: float | None = None
    memoryInBytes: float | None = None
    command: CommandWire | None = None


class SpecificationWire(msgspec.Struct):
    tasks: list[SpecifiedTaskWire]
    files: list[FileWire] = []


class CpuWire(msgspec.Struct):
    """`count` is `coreCount` before 1.5."""

    coreCount: float | None = None
    count: float | None = None


class MachineWire(msgspec.Struct):
    """`memory` is in kilobytes, before 1.4."""

    nodeName: str
    cpu: CpuWire | None = None
    memoryInBytes: float | None = None
    memory: float | None = None


class ExecutionWire(msgspec.Struct):
    tasks: list[ExecutedTaskWire] = []
    machines: list[MachineWire] = []


class LinkedFileWire(msgspec.Struct):
    """`size` is in bytes too."""

    name: str
    link: str = ""
    path: str = ""
    sizeInBytes: float | None = None
    size: float | None = None


class OldTaskWire(msgspec.Struct):
    """Seconds are `runtime` before 1.4; `memory` is in kilobytes. Parents are told by name."""

    name: str
    id: str = ""
    category: str = ""
    runtimeInSeconds: float | None = None
    runtime: float | None = None
    cores: float | None = None
    memoryInBytes: float | None = None
    memory: float | None = None
    command: CommandWire | None = None
    parents: list[str] = []
    children: list[str] = []
    files: list[LinkedFileWire] = []


class WorkflowWire(msgspec.Struct):
    specification: SpecificationWire | None = None
    execution: ExecutionWire | None = None
    tasks: list[OldTaskWire] | None = None
    jobs: list[OldTaskWire] | None = None
    machines: list[MachineWire] = []


class InstanceWire(msgspec.Struct):
    workflow: WorkflowWire
