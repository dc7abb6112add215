"""The scribe's process: does what it is told, one thing after the other, until its caller is gone.

Run as ``python -m orchestrator_core.orchestrate.scribe.child FD IDLE``; `process.py` starts it.
First comes the store, then one request at a time, and each is answered: by what it gives, or by an
error. After so many seconds without a request it ends.
"""

from __future__ import annotations

import contextlib
import pickle
import signal
import socket
import sys
from typing import Any, BinaryIO


def main(descriptor: int, idle: float) -> None:
    # Who stops a scheduler by Ctrl-C wants it to write its last runs.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    connection = socket.socket(fileno=descriptor)
    connection.settimeout(idle)
    with contextlib.suppress(EOFError, OSError), connection:
        _serve(connection.makefile("rb"), connection.makefile("wb"))


def _serve(requests: BinaryIO, answers: BinaryIO) -> None:
    store = pickle.load(requests)
    try:
        while True:
            request = pickle.load(requests)
            pickle.dump(_answer(request, store), answers, pickle.HIGHEST_PROTOCOL)
            answers.flush()
    finally:
        store.close()


def _answer(request: Any, store: Any) -> Any:
    try:
        return request.do(store)
    except Exception as error:
        # As text: nobody knows whether an error can be pickled.
        return RuntimeError(f"{type(error).__name__}: {error}")


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
