"""Reading rows of which some may be damaged: these are dropped, and others take their places."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from sqlalchemy import Row

from orchestrator_core.store.codec import DamagedBlob

T = TypeVar("T")


def whole(
    ask: Callable[[], Sequence[Row[Any]]],
    record: Callable[[Row[Any]], T],
    drop: Callable[[Row[Any]], bool],
    limit: int,
) -> list[T]:
    """The records of the rows that are as they were written; as many as there are, up to `limit`.

    Args:
        ask: for the first `limit` rows. record: of a row; raises DamagedBlob.
        drop: a damaged row; False if the database does not let us.
    """
    while True:
        rows, found, dropped = ask(), list[T](), 0
        for row in rows:
            try:
                found.append(record(row))
            except DamagedBlob:
                dropped += drop(row)
        if not dropped or len(rows) < limit:
            return found
