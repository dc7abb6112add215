"""Rows: how records become columns of `tables.py`, and columns become records again."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any

import msgspec
from sqlalchemy import Row

from orchestrator_core.costs.observation import Observation
from orchestrator_core.errors import OrchestratorError
from orchestrator_core.execute.record import RunRecord, TaskRecord
from orchestrator_core.graph.amounts import NOTHING, Amounts
from orchestrator_core.store.base import (
    RunSummary,
    ScheduleKey,
    StoredSchedule,
    features_of,
    summary_of,
    teaching,
)
from orchestrator_core.store.codec import pack_json, unpack_run, unpack_schedule
from orchestrator_core.store.tables import task_records

_EXECUTED = ("task", "kind", "worker", "worker_kind", "start_seconds", "end_seconds")
_LATER = ("attempt", "memory_peak", "status", "setup_seconds", "device_memory", "overhead_seconds")
RECORDED = tuple(
    task_records.c[name] for name in (*_EXECUTED, "nbytes", "transfer_seconds", *_LATER)
)
"""Columns of a task record, in the order in which they are read."""

_MEASURED = ("memory_peak", "device_memory", "overhead_seconds")
_LEARNED = ("setup_seconds", "nbytes", "run_id", "features", *_MEASURED)
OBSERVED = tuple(task_records.c[name] for name in (*_EXECUTED, *_LEARNED))
"""Columns of an observation, in the order in which they are read."""


def schedule_row(stored: StoredSchedule) -> dict[str, Any]:
    return {
        **key_columns(stored.key),
        "flow": clean(stored.flow),
        "planner": clean(stored.planner),
        "makespan": float(stored.makespan),
        "lower_bound": float(stored.lower_bound),
        "bound_method": clean(stored.bound_method),
        "prices": clean(stored.prices),
        "assignments": len(stored.schedule),
        "created_at": float(stored.created_at),
        "used_at": float(stored.used_at),
        "hits": int(stored.hits),
        "body": pack_json(stored.schedule),
    }


def key_columns(key: ScheduleKey) -> dict[str, str]:
    return {name: clean(getattr(key, name)) for name in ScheduleKey.__slots__}


def key_of(row: Row[Any]) -> ScheduleKey:
    return ScheduleKey(**{name: getattr(row, name) for name in ScheduleKey.__slots__})


def stored_schedule(row: Row[Any]) -> StoredSchedule:
    """The record of a row.

    Raises:
        DamagedBlob: if its blob is not what was written.
    """
    return StoredSchedule(
        key=key_of(row),
        schedule=unpack_schedule(row.body),
        makespan=row.makespan,
        lower_bound=row.lower_bound,
        bound_method=row.bound_method,
        prices=row.prices,
        planner=row.planner,
        created_at=row.created_at,
        used_at=row.used_at,
        hits=row.hits,
        flow=row.flow,
    )


def run_row(run: RunRecord) -> dict[str, Any]:
    plan, line = run.plan, summary_of(run)
    return {
        "run_id": clean(run.run_id),
        "flow": clean(run.flow),
        "origin": clean(run.origin),
        "started_at": float(run.started_at),
        "seconds": float(run.seconds),
        "mode": clean(run.mode),
        "reason": clean(run.reason),
        "status": clean(run.status),
        "graph_signature": clean(run.graph_signature),
        "cluster_signature": clean(run.cluster_signature),
        "planner": clean(plan.planner) if plan else None,
        "cache": clean(line.cache),
        "adopted": plan is not None and plan.adopted,
        "predicted": line.predicted,
        "default_predicted": plan.default_predicted if plan else None,
        "lower_bound": line.lower_bound,
        "tasks": line.tasks,
        "others": line.others,
        "body": pack_json(replace(run, tasks=(), origin="")),
    }


def run_summary(row: Row[Any]) -> RunSummary:
    return RunSummary(**{name: getattr(row, name) for name in RunSummary.__slots__})


def run_record(row: Row[Any], tasks: Iterable[Row[Any]]) -> RunRecord:
    """The record of a row and its task records.

    Raises:
        DamagedBlob: if its blob is not what was written.
    """
    records = tuple(_task_record(task) for task in tasks)
    return replace(unpack_run(row.body), tasks=records, origin=row.origin)


def task_rows(run: RunRecord) -> list[dict[str, Any]]:
    teaches = {id(record) for record in teaching(run)}
    return [
        {
            "run_id": clean(run.run_id),
            "task": clean(record.task),
            "kind": clean(record.kind),
            "worker": clean(record.worker),
            "worker_kind": clean(record.worker_kind),
            "start_seconds": float(record.start),
            "end_seconds": float(record.end),
            "nbytes": _finite(record.nbytes),
            "transfer_seconds": _finite(record.transfer_seconds),
            "attempt": record.attempt,
            "memory_peak": _finite(record.memory_peak),
            "status": clean(record.status),
            "teaches": id(record) in teaches,
            "setup_seconds": _finite(record.setup_seconds),
            "device_memory": _finite(record.device_memory),
            "overhead_seconds": _finite(record.overhead_seconds),
            "features": _features_to_text(features_of(record, run)),
        }
        for record in run.tasks
    ]


def _task_record(row: Sequence[Any]) -> TaskRecord:
    """Of a row with the columns `RECORDED`."""
    task, kind, worker, worker_kind, start, end, nbytes, sent, *others = row
    attempt, memory, status, setup, device, overhead = others
    return TaskRecord(
        task=task,
        kind=kind,
        worker=worker,
        worker_kind=worker_kind,
        start=start,
        end=end,
        nbytes=math.nan if nbytes is None else nbytes,
        transfer_seconds=math.nan if sent is None else sent,
        attempt=attempt,
        memory_peak=memory,
        status=status,
        setup_seconds=setup or 0.0,
        device_memory=device,
        overhead_seconds=overhead,
    )


def observation(row: Sequence[Any]) -> Observation:
    """Of a row with the columns `OBSERVED`."""
    task, kind, worker, worker_kind, start, end, setup, nbytes, run_id, features, *measured = row
    memory, device, overhead = measured
    return Observation(
        task=task,
        kind=kind,
        worker=worker,
        worker_kind=worker_kind,
        seconds=end - start - (setup or 0.0),
        nbytes=math.nan if nbytes is None else nbytes,
        run_id=run_id,
        memory_peak=memory,
        device_memory=device,
        setup_seconds=setup or 0.0,
        overhead_seconds=overhead,
        features=NOTHING if features is None else _features_from_text(features),
    )


def cluster_row(run: RunRecord) -> dict[str, Any]:
    return {
        "cluster_signature": clean(run.cluster_signature),
        "workers": len(run.cluster),
        "used_at": float(run.started_at),
        "body": pack_json(run.cluster),
    }


def clean(text: str) -> str:
    """The text as every database can hold it: no NUL, no lone surrogates."""
    return text.encode("utf-8", "replace").decode("utf-8").replace("\0", "")


def _features_to_text(features: Amounts) -> str | None:
    return clean(msgspec.json.encode(dict(features)).decode()) if features else None


@lru_cache(maxsize=4096)
def _features_from_text(text: str) -> Amounts:
    """Tasks of a run often share them. What was damaged says nothing."""
    try:
        return Amounts(msgspec.json.decode(text, type=dict[str, float]))
    except (msgspec.MsgspecError, OrchestratorError):
        return NOTHING


def _finite(number: float | None) -> float | None:
    return None if number is None or not math.isfinite(number) else float(number)
