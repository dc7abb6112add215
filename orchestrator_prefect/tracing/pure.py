"""What a flow's body may call while it is traced: what computes, and does nothing else.

Reading is allowed, as of names in a folder or of a file of settings; what writes, starts processes
or talks to others is refused wherever it comes from (`effects`).
"""

from __future__ import annotations


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


PACKAGES = _words(
    """
    builtins _io io math cmath itertools functools _functools operator _operator collections
    _collections _collections_abc datetime _datetime zoneinfo calendar decimal _decimal fractions
    statistics string _string re json _json copy dataclasses enum typing types uuid hashlib _hashlib
    _md5 _sha1 _sha2 _sha256 _sha512 _blake2 base64 binascii bisect _bisect heapq _heapq textwrap
    pathlib posixpath ntpath genericpath fnmatch glob contextlib numbers time logging warnings abc
    _abc pprint csv _csv tomllib shlex difflib struct _struct html unicodedata graphlib numpy
    pydantic pydantic_core _contextvars contextvars keyword reprlib
    """
)
"""Packages all of which may be called, but for `IMPURE`."""

IMPURE = (
    "builtins.exec",
    "builtins.eval",
    "builtins.compile",
    "builtins.input",
    "builtins.breakpoint",
    "builtins.__import__",
    "numpy.random",
)
"""Beginnings of what is not allowed of them: it runs text, asks people, or is never twice alike."""

NAMES = _words(
    """
    os.getenv os.fspath os.walk os.get_exec_path posix.listdir posix.scandir posix.getcwd
    posix.fspath posix.cpu_count posix.stat posix.ScandirIterator posix.DirEntry
    asyncio.tasks.gather urllib.parse.urlparse urllib.parse.urljoin urllib.parse.quote
    urllib.parse.urlencode yaml.safe_load
    pandas.core.indexes.datetimes.date_range pandas.core.indexes.period.period_range
    prefect.context.tags prefect.futures.wait prefect.tasks.task
    prefect.utilities.annotations.unmapped prefect.utilities.annotations.allow_failure
    prefect.utilities.annotations.quote prefect.utilities.annotations.opaque
    dask.base.annotate
    """
)
"""Single functions and classes, by module and name."""

PREFIXES = ("pandas._libs.tslibs.", "posix.DirEntry.", "os._Environ.", "posix.ScandirIterator.")

HANDING_ON = _words(
    """
    builtins itertools functools _functools collections _collections _collections_abc operator
    _operator copy contextlib logging typing dataclasses prefect dask asyncio types contextvars
    """
)
"""Packages that may be handed what stands in for a result: if they look at it, that is noticed."""


def is_pure(name: str) -> bool:
    """May a function or class of this module and name be called?"""
    if name.startswith(IMPURE):
        return False
    return package(name) in PACKAGES or name in NAMES or name.startswith(PREFIXES)


def why_not(name: str) -> str:
    """What is to be said of one that may not."""
    if name == "prefect.futures.as_completed":
        return "gives tasks in the order in which they end, which only a run can tell"
    if package(name) in ("random", "secrets") or name.startswith("numpy.random"):
        return "gives something else each time"
    if package(name) == "prefect":
        return "needs a run, or asks the Prefect server"
    return "may do anything"


def as_known(name: str) -> str:
    """The name as people write it: ``open``, ``os.system``, ``sqlite3.connect``."""
    if name.startswith("posix."):
        return f"os.{name.removeprefix('posix.')}"
    return name.removeprefix("builtins.").removeprefix("_")


def package(name: str) -> str:
    """The first part of a dotted name."""
    return name.partition(".")[0]
