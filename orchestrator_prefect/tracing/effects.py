"""Effects: while a trace is under way, Python itself tells of files, processes and sockets, and
whatever would change anything is refused before it happens.

The hook that hears of it can never be taken out again; outside of traces it lets all pass.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from typing import Any

from orchestrator_prefect.tracing.watch import refuse, watching

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND

_EFFECTS = {
    "starts a process": "subprocess.Popen os.system os.exec os.fork os.forkpty os.posix_spawn "
    "os.spawn os.startfile pty.spawn",
    "ends or signals a process": "os.kill os.killpg signal.pthread_kill",
    "changes files": "os.remove os.rename os.mkdir os.rmdir os.truncate os.link os.symlink "
    "os.chmod os.chown os.lchmod os.chflags os.utime os.setxattr os.removexattr shutil.copyfile "
    "shutil.copymode shutil.copystat shutil.copytree shutil.rmtree shutil.move shutil.chown "
    "shutil.make_archive shutil.unpack_archive tempfile.mkstemp tempfile.mkdtemp "
    "os.mkfifo os.mknod",
    "talks to the network": "socket.connect socket.bind socket.sendto socket.sendmsg "
    "socket.getaddrinfo socket.gethostbyname socket.gethostbyaddr socket.getnameinfo "
    "urllib.Request webbrowser.open",
    "opens a database": "sqlite3.connect",
    "loads foreign code": "ctypes.dlopen",
}
_WHAT = {event: what for what, events in _EFFECTS.items() for event in events.split()}
_installed = False


def heed_effects() -> None:
    """From now on, effects are refused in this process while a trace is under way."""
    global _installed
    if not _installed:
        _installed = True
        sys.addaudithook(_hear)


def _hear(event: str, arguments: tuple[Any, ...]) -> None:
    watch = watching()
    if watch is None or watch.thread != threading.get_ident():
        return
    what = _WHAT.get(event)
    if what is None and event == "open":
        what = _opening(*arguments)
    if what is not None:
        refuse(what, "let a task do it, or run the flow once with @optimized_flow")


def _opening(path: Any, mode: Any, flags: Any) -> str | None:
    """What is wrong with opening a file so, if anything."""
    if isinstance(path, int) or path == os.devnull:
        return None
    if isinstance(flags, int) and flags & _WRITING:
        return "writes a file"
    try:
        # A pipe or a device may wait for ever, or do something when it is read.
        is_file = stat.S_ISREG(os.stat(path).st_mode) or stat.S_ISDIR(os.stat(path).st_mode)
    except (OSError, TypeError, ValueError):
        return None
    return None if is_file else "reads a device or a pipe"
