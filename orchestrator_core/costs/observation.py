"""Observation: one measured execution, the raw material of learned costs."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator_core.graph.amounts import NOTHING, Amounts


@dataclass(frozen=True, slots=True)
class Observation:
    """One execution of a task on a worker.

    Attributes:
        task: name of the task, stable from run to run. kind: what durations are learned about.
        seconds: duration, > 0. nbytes: size of the output, >= 0.
        memory_peak: bytes that it took while it ran, or None if nobody measured.
        device_memory: bytes that it needs on an accelerator, or None if not known.
        setup_seconds: what else it took: compiling, or waiting for memory; no part of `seconds`.
        overhead_seconds: part of `seconds` that went into what is done around its own code, or
            None if nobody measured.
        features: numbers that may tell how long it takes; see `Task`.
    """

    task: str
    kind: str
    worker: str
    worker_kind: str
    seconds: float
    nbytes: float = 0.0
    run_id: str = ""
    memory_peak: float | None = None
    device_memory: float | None = None
    setup_seconds: float = 0.0
    overhead_seconds: float | None = None
    features: Amounts = NOTHING
