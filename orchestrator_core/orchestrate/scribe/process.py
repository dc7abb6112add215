"""Scribe: the caller's end of the process that writes and learns.

Started by `subprocess`, without a fork of our threads and without importing our ``__main__``, so
that it works from any thread and from inside a Dask scheduler. It costs its caller what it takes to
pickle a run, piece by piece: other threads go on meanwhile.
"""

from __future__ import annotations

import contextlib
import pickle
import socket
import subprocess
import sys
from typing import Any

from orchestrator_core.helper_process import environment
from orchestrator_core.store.base import Store

IDLE_SECONDS = 300.0
"""Without a request for so long the process ends, and its memory is free again."""

END_SECONDS = 1.0
"""How long a scribe that was told to end may take."""


_COMMAND = (sys.executable, "-P", "-m", f"{__package__}.child")


class Scribe:
    """One process. For one thread, which waits for each answer."""

    def __init__(self, store: Store) -> None:
        """Start the process; it opens a store of its own, like this one.

        Raises:
            OSError: if the system refuses one. ValueError: if the system cannot share sockets.
        """
        ours, theirs = socket.socketpair()
        with theirs, contextlib.ExitStack() as opened:
            opened.enter_context(ours)
            self._process = subprocess.Popen(
                [*_COMMAND, str(theirs.fileno()), str(IDLE_SECONDS)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            self._requests = opened.enter_context(ours.makefile("wb"))
            self._answers = opened.enter_context(ours.makefile("rb"))
            self._socket, self._opened = ours, opened.pop_all()
        self._send(store)

    @property
    def has_left(self) -> bool:
        """Did the process end well, as after a long time without a request?"""
        return self._process.poll() == 0

    def do(self, request: Any) -> Any:
        """The answer to a request (see `writing`); waits for it.

        Raises:
            RuntimeError: what went wrong over there. OSError, EOFError, pickle.UnpicklingError: if
                the process is gone.
        """
        self._send(request)
        answer = pickle.load(self._answers)
        if isinstance(answer, RuntimeError):
            raise answer
        return answer

    def end(self) -> None:
        """End the process once it has done what it does now, or after `END_SECONDS`; a thread that
        waits for an answer gets an `EOFError`. May be called twice."""
        with contextlib.suppress(OSError):
            # Not closed yet: that would wait for whoever reads.
            self._socket.shutdown(socket.SHUT_RDWR)
        try:
            self._process.wait(END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError):
            self._opened.close()

    def _send(self, thing: Any) -> None:
        # Goes out piece by piece, and in between others get the interpreter.
        pickle.dump(thing, self._requests, pickle.HIGHEST_PROTOCOL)
        self._requests.flush()
