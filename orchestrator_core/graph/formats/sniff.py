"""Which format is a file in? First by its name, then by its first lines."""

from __future__ import annotations

from orchestrator_core.graph.formats.source import Source

BY_SUFFIX = {
    ".stg": "stg",
    ".sm": "psplib",
    ".mm": "psplib",
    ".rcp": "patterson",
    ".jsp": "jsplib",
}
_HEAD = 4096


def guess(source: Source) -> str | None:
    """The format's name, or None if nothing fits."""
    for suffix in source.suffixes[-1:]:
        if suffix in BY_SUFFIX:
            return BY_SUFFIX[suffix]
    head = source.data[:_HEAD].lstrip()
    if head.startswith((b"{", b"[")):
        return "orchestrator" if b"orchestrator.task-graph/" in head else "wfcommons"
    if b"supersource" in head or b"PRECEDENCE RELATIONS" in head:
        return "psplib"
    return _by_numbers(head)


def _by_numbers(head: bytes) -> str | None:
    """Tells the formats that are numbers only by the lengths of their first two lines.

    One number (tasks), then id, duration, predecessors: STG. Two numbers (tasks, resources), then
    a capacity for each resource: Patterson. Two numbers (jobs, machines), then a machine and a
    duration for each machine: JSPLIB.
    """
    lines = [line.split() for line in head.splitlines() if not line.lstrip().startswith(b"#")]
    rows = [line for line in lines if line][:2]
    if len(rows) < 2 or not all(word.isdigit() for word in rows[0]):
        return None
    first, second = rows
    if len(first) == 1:
        return "stg"
    if len(first) == 2 and len(first[1]) < 9:
        width = int(first[1])
        if len(second) == width:
            return "patterson"
        if len(second) == 2 * width:
            return "jsplib"
    return None
