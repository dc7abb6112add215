"""The helper's process: answers one question after the other, until its caller is gone.

Run as ``python -m orchestrator_core.plan.crew.child FD``; `helper.py` starts and ends it.
"""

from __future__ import annotations

import contextlib
import os
import queue
import sys
import threading
from multiprocessing.connection import Connection
from typing import Any

_MOST_MEMORY = 8 * 2**30
"""Bytes of address space that this process may take; beyond it, it fails instead of its machine."""

_IDLE = 300.0
"""Seconds without a question after which this process ends, and its memory is free again."""


def main() -> None:
    _spare_the_machine()
    connection = Connection(int(sys.argv[1]))
    inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
    threading.Thread(target=_read, args=(connection, inbox), daemon=True).start()
    from orchestrator_core.plan.cpsat.importing import import_cp_sat

    import_cp_sat()
    from orchestrator_core.plan.engine.blas import leave_blas_out

    leave_blas_out()
    from orchestrator_core.plan.crew.answering import answer
    from orchestrator_core.plan.crew.messages import Ask

    with contextlib.suppress(queue.Empty):
        while True:
            message = inbox.get(timeout=_IDLE)
            if isinstance(message, Ask):
                answer(message, inbox, connection.send)
    os._exit(0)


def _read(connection: Connection, inbox: queue.SimpleQueue[Any]) -> None:
    """Everything that comes; when the caller is gone, so is this process."""
    try:
        while True:
            inbox.put(connection.recv())
    except BaseException:
        os._exit(0)


def _spare_the_machine() -> None:
    """If memory runs out, this process is the one to fail."""
    with contextlib.suppress(OSError), open("/proc/self/oom_score_adj", "w") as score:
        score.write("1000")
    with contextlib.suppress(ImportError, OSError, ValueError):
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (_MOST_MEMORY, hard))


if __name__ == "__main__":
    main()
