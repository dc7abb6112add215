"""A file's bytes, unpacked and bounded, and the words and lines that the readers ask of it."""

from __future__ import annotations

import gzip
import io
import math
import os
import re
import stat
import zlib
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from orchestrator_core.errors import InvalidFormat, InvalidInput

MAX_BYTES = 2 * 1024**3
"""Largest file that is read, after unpacking."""

MAX_RATIO = 200
"""Largest growth by unpacking; real workflows in JSON grow 10 to 50 times, a gzip bomb 1000."""

FREE_BYTES = 16 * 1024**2
"""Up to here `MAX_RATIO` is not asked: a small file may well be monotonous."""

_INTEGER = re.compile(r"[+-]?\d{1,19}")  # int() of a very long word takes quadratic time
_GZIP = b"\x1f\x8b"
_CHUNK = 1024**2


class MissingFile(InvalidInput, FileNotFoundError):
    """There is no such file: an error of this package's own, and one that Python knows."""


@dataclass(frozen=True)
class Source:
    """A file that is being read: where it lies, and its bytes."""

    path: str
    data: bytes

    @staticmethod
    def load(path: str | os.PathLike[str]) -> Source:
        """The file, unpacked if it is gzip (whatever its name says).

        Raises:
            MissingFile: if there is no such file. OSError: if it may not be read.
            InvalidFormat: if it is empty, damaged, larger than the limits above, or a device.
        """
        name = os.fspath(path)
        try:
            raw = _content(name)
        except FileNotFoundError:
            raise MissingFile(f"{name}: there is no such file") from None
        data = _unpack(name, raw) if raw.startswith(_GZIP) else raw
        data = data.removeprefix(BOM_UTF8)
        if not data.strip():
            raise InvalidFormat(f"{name}: the file is empty; expected a workflow")
        return Source(name, data)

    @property
    def suffixes(self) -> list[str]:
        """The name's extensions in lower case, without `.gz`."""
        parts = [suffix.lower() for suffix in Path(self.path).suffixes]
        return parts[:-1] if parts and parts[-1] == ".gz" else parts

    def error(self, message: str, line: int | None = None) -> InvalidFormat:
        """An error that names the file, and the line if it is known."""
        where = self.path if line is None else f"{self.path}, line {line}"
        return InvalidFormat(f"{where}: {message}")

    def lines(self) -> Iterator[tuple[int, str]]:
        """Number (from 1) and text of each line.

        Raises:
            InvalidFormat: if a line is no text.
        """
        try:
            text = self.data.decode("utf-8")
        except UnicodeDecodeError as error:
            line = self.data.count(b"\n", 0, error.start) + 1
            found = self.data[error.start : error.start + 12]
            raise self.error(f"expected text, found bytes such as {found!r}", line) from None
        return enumerate(text.split("\n"), start=1)

    def words(self, comment: str = "#") -> Words:
        """The words of the whole file; lines that begin with `comment` are left out."""
        return Words(
            self, ((n, text) for n, text in self.lines() if not text.lstrip().startswith(comment))
        )


class Words:
    """Walks over the words of some lines, one number at a time."""

    def __init__(self, source: Source, lines: Iterable[tuple[int, str]]) -> None:
        self._source = source
        self._words = ((number, word) for number, text in lines for word in text.split())
        self.line = 0

    def integer(self, what: str, least: int = 0, most: int | None = None) -> int:
        """The next word, an integer from `least` to `most`.

        Raises:
            InvalidFormat: naming the line, `what` was expected there, and what was found.
        """
        allowed = f"an integer >= {least}" if most is None else f"an integer {least} to {most}"
        word = self._next(f"{what} ({allowed})")
        value = int(word) if _INTEGER.fullmatch(word) else None
        if value is None or value < least or (most is not None and value > most):
            raise self.error(f"expected {what}, {allowed}, found {word[:40]!r}")
        return value

    def number(self, what: str) -> float:
        """The next word, a finite number >= 0.

        Raises:
            InvalidFormat: naming the line, `what` was expected there, and what was found.
        """
        word = self._next(f"{what} (a number >= 0)")
        try:
            value = float(word)
        except ValueError:
            value = math.nan
        if not (math.isfinite(value) and value >= 0):
            raise self.error(f"expected {what}, a finite number >= 0, found {word[:40]!r}")
        return value

    def end(self, what: str) -> None:
        """Nothing is left.

        Raises:
            InvalidFormat: if there is a word after `what`, which should have been the last.
        """
        if (found := next(self._words, None)) is not None:
            self.line, word = found
            raise self.error(f"expected nothing after {what}, found {word[:40]!r}")

    def error(self, message: str) -> InvalidFormat:
        """An error that names the line that is being read."""
        return self._source.error(message, self.line or None)

    def _next(self, expected: str) -> str:
        found = next(self._words, None)
        if found is None:
            raise self.error(f"the file ends too early: expected {expected}")
        self.line, word = found
        return word


def _content(name: str) -> bytes:
    """The bytes in a file or a pipe; how many a pipe holds only its end tells."""
    with open(name, "rb") as file:
        found = os.fstat(file.fileno())
        if not (stat.S_ISREG(found.st_mode) or stat.S_ISFIFO(found.st_mode)):
            raise InvalidFormat(f"{name}: neither a file nor a pipe; expected a workflow file")
        raw = None if found.st_size > MAX_BYTES else _at_most(MAX_BYTES, file)
    if raw is None:
        raise InvalidFormat(f"{name}: larger than {MAX_BYTES} bytes, the most that is read")
    return raw


def _unpack(name: str, raw: bytes) -> bytes:
    """The bytes inside a gzip file of one or more members, refused as soon as they get too many."""
    try:
        with gzip.GzipFile(fileobj=io.BytesIO(raw)) as file:
            data = _at_most(min(MAX_BYTES, max(FREE_BYTES, MAX_RATIO * len(raw))), file)
    except (EOFError, OSError, zlib.error) as error:
        raise InvalidFormat(f"{name}: the gzip data is damaged or cut off ({error})") from None
    if data is None:
        raise InvalidFormat(
            f"{name}: {len(raw)} bytes of gzip unpack to far more; at most "
            f"{MAX_RATIO} times as much is read, and {MAX_BYTES} bytes in all"
        )
    return data


def _at_most(most: int, file: BinaryIO | gzip.GzipFile) -> bytes | None:
    """All that is left to read; None if that is more than so many bytes."""
    parts: list[bytes] = []
    left = most
    while part := file.read(_CHUNK):
        parts.append(part)
        left -= len(part)
        if left < 0:
            return None
    return b"".join(parts)
