"""Blobs: compressed JSON that proves that it is whole before anyone reads it.

    b"ORCH" | version (1 byte) | length of the text (8) | SHA-256 of the text (32) | zlib(text)

Nothing is unpacked beyond the caps, nothing is parsed before its digest fits, and what is parsed
is plain data of a fixed shape. The digest guards against accidents; against malice stand the strict
formats, the limits here, and `check_schedule` before a schedule is followed.
"""

from __future__ import annotations

import hashlib
import struct
import zlib
from collections.abc import Callable
from typing import TypeVar

import numpy as np

from orchestrator_core.errors import StoreError
from orchestrator_core.execute.record import RunRecord
from orchestrator_core.graph.cluster import Cluster
from orchestrator_core.plan.schedule import Schedule

T = TypeVar("T")

MAX_BLOB = 64 * 2**20
"""Bytes of the largest blob that is written or read."""

MAX_TEXT = 512 * 2**20
"""Bytes of the largest text that a blob may unpack to."""

_MAGIC = b"ORCH"
_VERSION = 1
_HEADER = struct.Struct(">4sBQ32s")
_LEVEL = 3


class DamagedBlob(StoreError):
    """A stored blob is not what was written; its record is as good as lost."""


def pack(text: bytes) -> bytes:
    """The blob of a text.

    Raises:
        StoreError: if it is too large to be kept.
    """
    body = zlib.compress(text, _LEVEL)
    if len(text) > MAX_TEXT or len(body) + _HEADER.size > MAX_BLOB:
        raise StoreError(
            f"a record of {len(text)} bytes ({len(body)} compressed) is too large to be stored; "
            f"the store keeps records of up to {MAX_TEXT} bytes ({MAX_BLOB} compressed)"
        )
    return _HEADER.pack(_MAGIC, _VERSION, len(text), hashlib.sha256(text).digest()) + body


def unpack(blob: bytes) -> bytes:
    """The text of a blob.

    Raises:
        DamagedBlob: if it is not exactly what `pack` made.
    """
    if not _HEADER.size < len(blob) <= MAX_BLOB:
        raise DamagedBlob(f"a blob of {len(blob)} bytes; expected {_HEADER.size} to {MAX_BLOB}")
    magic, version, length, digest = _HEADER.unpack_from(blob)
    if magic != _MAGIC or version != _VERSION:
        raise DamagedBlob(f"a blob of format {magic!r} {version}; expected {_MAGIC!r} {_VERSION}")
    if length > MAX_TEXT:
        raise DamagedBlob(f"a blob that claims {length} bytes of text; at most {MAX_TEXT} are read")
    text = _inflate(blob[_HEADER.size :], length)
    if len(text) != length or hashlib.sha256(text).digest() != digest:
        raise DamagedBlob("a blob whose text does not fit its length and digest")
    return text


def _inflate(body: bytes, length: int) -> bytes:
    """At most one byte more than `length`, however much the body could become."""
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(body, length + 1)
    except zlib.error as error:
        raise DamagedBlob(f"a blob that cannot be unpacked: {error}") from None
    if not inflater.eof or inflater.unused_data:
        raise DamagedBlob("a blob that is cut short, or goes on after its end")
    return text


def pack_json(record: Schedule | RunRecord | Cluster) -> bytes:
    """The blob of a record.

    Raises:
        StoreError: if it is too large, or holds text that JSON cannot.
    """
    try:
        return pack(record.to_json())
    except ValueError as error:
        raise StoreError(f"{record!r:.100} cannot be written as JSON: {error}") from None


def unpack_schedule(blob: bytes) -> Schedule:
    """The schedule of a blob.

    Raises:
        DamagedBlob: if it is none, or its numbers cannot be times, sizes and positions.
    """
    schedule = _read(Schedule.from_json, blob)
    if not _plausible(schedule):
        raise DamagedBlob("a schedule whose times, sizes or positions cannot be")
    return schedule


def _plausible(schedule: Schedule) -> bool:
    positions = (schedule.instance, schedule.mode, schedule.transfer_instance)
    amounts = (
        schedule.start,
        schedule.end - schedule.start,
        schedule.transfer_start,
        schedule.transfer_encoded - schedule.transfer_start,
        schedule.transfer_end - schedule.transfer_encoded,
        schedule.transfer_nbytes,
        np.array([b - a for pieces in schedule.segments.values() for a, b in pieces]),
    )
    return all(bool((column >= 0).all()) for column in positions) and all(
        bool((np.isfinite(column) & (column >= 0)).all()) for column in amounts
    )


def unpack_run(blob: bytes) -> RunRecord:
    """The run of a blob.

    Raises:
        DamagedBlob: if it is none.
    """
    return _read(RunRecord.from_json, blob)


def unpack_cluster(blob: bytes) -> Cluster:
    """The cluster of a blob.

    Raises:
        DamagedBlob: if it is none.
    """
    return _read(Cluster.from_json, blob)


def _read(from_json: Callable[[bytes], T], blob: bytes) -> T:
    text = unpack(blob)
    try:
        return from_json(text)
    except (ValueError, ArithmeticError, TypeError, RecursionError) as error:
        raise DamagedBlob(f"a blob that does not hold what it should: {error}") from None
