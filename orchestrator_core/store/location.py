"""Where the database is: an URL, a path, or the user's own place; and how to name it in public.

A database holds the names of a user's tasks, so a new file belongs to that user alone.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError

from orchestrator_core.clean_text import clean
from orchestrator_core.errors import StoreError
from orchestrator_core.settings import SETTINGS, Setting, Source, Stated, find
from orchestrator_core.settings.environment import environment
from orchestrator_core.settings.pyproject import pyproject


def default_url() -> URL:
    """What `ORCHESTRATOR_DB`, Dask's configuration or `pyproject.toml` say, in this order; or
    `orchestrator/schedules.db` in the user's data directory.

    Raises:
        StoreError: if that is no URL that can be read, or the user has no home.
    """
    found = find(SETTINGS["store"], (environment(), Source("Dask", _in_dask), pyproject()))
    if found.value is not None:
        try:
            return to_url(found.value)
        except StoreError as error:
            raise StoreError(f"{found.where}: {error}") from None
    from platformdirs import user_data_path

    with _at_home():
        return _of_file(user_data_path("orchestrator", appauthor=False) / "schedules.db")


def to_url(location: str | os.PathLike[str] | URL | None = None) -> URL:
    """The URL of a database, from an URL, from the path of an SQLite file, or the default.

    Raises:
        StoreError: if it is an URL that cannot be read, or of a kind that is not supported.
    """
    if location is None:
        return default_url()
    if not isinstance(location, URL):
        text = os.fspath(location)
        if not text:
            raise StoreError(
                "the name of the database is empty; give the path of a file, or an URL"
            )
        if "://" not in text:
            return _of_file(Path(text))
        try:
            location = make_url(text)
        except (ArgumentError, ValueError):
            raise StoreError(
                "the database's URL cannot be read; expected sqlite:///path, "
                "postgresql://user:password@host/database (in a password, %40 for @, %3A for : and "
                "%2F for /), or the path of a file"
            ) from None
    return _supported(location)


def masked(url: URL) -> str:
    """The URL for people: without its password."""
    secret = {name: "***" for name in url.query if "pass" in name.lower() or "key" in name.lower()}
    shown = url.update_query_dict(secret) if secret else url
    return shown.render_as_string(hide_password=True).replace("%2A%2A%2A", "***")


LONG = 4
"""Letters of a password that stand nowhere else by chance."""


def without_password(text: str, url: URL) -> str:
    """The text with every appearance of the URL's password masked."""
    secrets = [str(value) for name, value in url.query.items() if "pass" in name.lower()]
    for secret in (str(url.password or ""), *secrets):
        if len(secret) >= LONG:
            text = text.replace(secret, "***")
        elif secret:  # as a word, or every such letter would go
            text = re.sub(rf"(?<!\w){re.escape(secret)}(?!\w)", "***", text)
    return text


def reason_of(error: Exception, url: URL) -> str:
    """Why a database failed, for people: on one line, without the URL's password. Drivers put each
    address that they tried, and advice, on a line of its own."""
    said = without_password(str(getattr(error, "orig", error)), url)
    return " ".join(clean(said).split())


def sqlite_path(url: URL) -> Path | None:
    """The file of an SQLite database; None for another kind of database."""
    if url.get_backend_name() != "sqlite":
        return None
    return Path((url.database or "").removeprefix("file:"))


def read_only(url: URL) -> bool:
    """Does the URL itself ask for reading only?"""
    return url.query.get("mode") == "ro" or "immutable" in url.query


def is_begun(url: URL) -> bool:
    """Is anything there yet? Of a server, only it can tell: it is taken to be."""
    path = sqlite_path(url)
    try:
        return path is None or path.is_dir() or path.stat().st_size > 0
    except FileNotFoundError:
        return False
    except OSError:
        return True  # whoever opens it is told what is in the way


def create_private(path: Path) -> None:
    """Create the file (mode 0600) and its folder (mode 0700) where they are missing.

    Raises:
        OSError: if that cannot be done. StoreError: if there is a folder of that name.
    """
    if path.is_dir():
        raise StoreError(f"{path} is a folder; name a file, such as {path / 'schedules.db'}")
    if not path.parent.is_dir():
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return


def _in_dask(setting: Setting) -> Stated | None:
    # To import Dask takes a tenth of a second, which nobody waits for whose environment says it.
    from orchestrator_core.settings.dask_config import dask_config

    return dask_config().look(setting)


def _of_file(path: Path) -> URL:
    with _at_home():
        return _supported(URL.create("sqlite", database=str(path.expanduser().absolute())))


@contextmanager
def _at_home() -> Iterator[None]:
    """Containers run under numbers that nobody has given a home, and then HOME may be missing."""
    try:
        yield
    except RuntimeError:
        raise StoreError(
            "the database would be in a home directory, and there is none; set HOME, or "
            "ORCHESTRATOR_DB to a URL or to an absolute path"
        ) from None


def _supported(url: URL) -> URL:
    name, _, driver = url.drivername.partition("+")
    if name in ("postgresql", "postgres"):
        _only(driver, "psycopg", "postgresql://")
        return url.set(drivername="postgresql+psycopg")
    if name != "sqlite":
        raise StoreError(
            f"a database of kind {name!r} is not supported; use an SQLite file or postgresql://"
        )
    _only(driver, "pysqlite", "sqlite:///")
    if url.database in (None, "", ":memory:"):
        raise StoreError(
            "an SQLite database in memory cannot be shared between threads; "
            "give the path of a file, or use MemoryStore"
        )
    return url


def _only(driver: str, ours: str, plain: str) -> None:
    """Others take other arguments, or want to be awaited."""
    if driver not in ("", ours):
        raise StoreError(
            f"databases are opened by {ours} only; leave out the driver {driver!r}: {plain}"
        )
