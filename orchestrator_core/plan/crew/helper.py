"""Helper: the caller's end of a process in which planners work.

Started by `subprocess`, without a fork of our threads and without importing our ``__main__``, so
that it works from any thread and from inside a Dask scheduler. Neither reading nor writing ever
blocks the caller: two threads do both.
"""

from __future__ import annotations

import contextlib
import dataclasses
import os
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from multiprocessing.connection import Connection
from typing import Any

from orchestrator_core.helper_process import environment
from orchestrator_core.plan.crew.messages import Ask, Failed, Found, Gone, Idle, News, Stop

HANGS_AFTER = 1.0
"""Seconds after `stop` in which a helper notices it, or it counts as hanging."""


def command(descriptor: int) -> list[str]:
    """The command that starts the helper's process."""
    return [sys.executable, "-P", "-m", "orchestrator_core.plan.crew.child", str(descriptor)]


class Helper:
    """One process, one question at a time.

    Attributes:
        inbox: what it says, for the caller: `Found`, `Failed`, `Idle`, and `Gone` at last.
    """

    def __init__(self) -> None:
        """Start the process.

        Raises:
            OSError: if the system refuses one.
        """
        self.inbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._outbox: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._number, self._idle, self._gone = 0, True, False
        self._stopped = self._heard = 0.0
        self.pid = os.getpid()
        with contextlib.ExitStack() as opened:
            self._errors = opened.enter_context(tempfile.TemporaryFile())
            ours, theirs = map(opened.enter_context, socket.socketpair())
            self._process = subprocess.Popen(
                command(theirs.fileno()),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=self._errors,
                env=environment(),
                pass_fds=[theirs.fileno()],
                start_new_session=True,
            )
            theirs.close()
            self._connection = Connection(ours.detach())
            opened.callback(self._connection.close)
            self._opened = opened.pop_all()
        self._reader = threading.Thread(target=self._read, name="orchestrator-read", daemon=True)
        self._reader.start()
        threading.Thread(target=self._write, name="orchestrator-write", daemon=True).start()

    @property
    def usable(self) -> bool:
        """Is it alive, ours, and done with its last question, or about to be?"""
        hangs = not self._idle and time.monotonic() > self._stopped + HANGS_AFTER
        return not hangs and not self._gone and self.pid == os.getpid()

    def ask(self, ask: Ask) -> int:
        """Put a question; returns its number, which its answers carry."""
        self._number += 1
        self._idle = False
        _drain(self.inbox, Found, Failed, Idle)  # that it is gone is told once
        self._outbox.put(dataclasses.replace(ask, number=self._number))
        return self._number

    def tell(self, news: News) -> None:
        """Pass on what others have found; what was not sent yet is superseded."""
        _drain(self._outbox, News)
        self._outbox.put(news)

    def stop(self) -> None:
        """Say that nobody listens any more; it is usable again once it has noticed. If it has said
        nothing since it was stopped before, the time that it has for that goes on."""
        _drain(self._outbox, News)
        if self._heard >= self._stopped:
            self._stopped = time.monotonic()
        self._outbox.put(Stop(self._number))

    def end(self) -> None:
        """Kill the process and whatever it may have started, and wait for it."""
        if self.pid == os.getpid():
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.killpg(self._process.pid, signal.SIGKILL)
            self._process.kill()
            self._reader.join()

    def _read(self) -> None:
        try:
            while True:
                message = self._connection.recv()
                self._heard = time.monotonic()
                if isinstance(message, Idle):
                    self._idle = message.number == self._number or self._idle
                self.inbox.put(message)
        except Exception:  # the end of the process, or what its last bytes were cut to
            self._gone = True
            self.inbox.put(Gone(self._how()))
            self._outbox.put(None)
            self._opened.close()

    def _write(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            while (message := self._outbox.get()) is not None:
                self._connection.send(message)

    def _how(self) -> str:
        """How the process ended, in words."""
        code = self._process.wait()
        how = f"signal {-code}" if code < 0 else f"exit status {code}"
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", "replace").strip().splitlines()
        return f"its process ended ({how}){': ' + lines[-1][:200] if lines else ''}"


def _drain(box: queue.SimpleQueue[Any], *kinds: type) -> None:
    """Take out the messages of these kinds; the others keep their order."""
    kept = []
    with contextlib.suppress(queue.Empty):
        while True:
            message = box.get_nowait()
            if not isinstance(message, kinds):
                kept.append(message)
    for message in kept:
        box.put(message)
