"""A Postgres server of the tests' own, where the machine has one to start."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import create_engine, text

VARIABLE = "ORCHESTRATOR_TEST_POSTGRES"


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """URL of a server, its driver named; the tests make databases of their own on it."""
    given = os.environ.get(VARIABLE)
    if given:
        yield given.replace("postgresql://", "postgresql+psycopg://", 1)
        return
    programs = _programs()
    if programs is None:
        pytest.skip(f"no Postgres: set {VARIABLE}=postgresql://... or install postgresql")
    folder = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    try:
        yield from _serve(programs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path | None:
    """The folder of a distribution's Postgres, else of the one that pgserver's wheel brings."""
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
    # Not imported: that asks platformdirs for a folder which not every machine has.
    wheel = importlib.util.find_spec("pgserver")
    if wheel is not None and wheel.origin is not None:
        found.insert(0, Path(wheel.origin).parent / "pginstall/bin/initdb")
    return found[-1].parent if found else None


def _serve(programs: Path, folder: Path) -> Iterator[str]:
    """Postgres refuses to run as root: then it runs as the user that its package made."""
    user = "postgres" if os.geteuid() == 0 else None
    if user is not None:
        try:
            shutil.chown(folder, user)
            subprocess.run([programs / "initdb", "-V"], check=True, user=user, cwd=folder)
        except (LookupError, PermissionError) as error:
            pytest.skip(f"no Postgres: it does not run as root, and as user 'postgres': {error}")

    def run(*command: str | Path) -> None:
        subprocess.run(
            command, check=True, user=user, cwd=folder, stdout=subprocess.DEVNULL, timeout=60
        )

    data = folder / "data"
    run(programs / "initdb", "-D", data, "-U", "tester", "--auth=trust", "-E", "UTF8", "--no-sync")
    options = f"-k {folder} -c listen_addresses='' -c fsync=off"
    run(programs / "pg_ctl", "-D", data, "-w", "-l", folder / "log", "-o", options, "start")
    try:
        yield f"postgresql+psycopg://tester@/postgres?host={folder}"
    finally:
        run(programs / "pg_ctl", "-D", data, "-m", "immediate", "stop")


@pytest.fixture
def postgres_url(postgres_server: str, request: pytest.FixtureRequest) -> Iterator[str]:
    """URL of an empty database."""
    name = f"t{abs(hash(request.node.nodeid)):x}"
    engine = create_engine(postgres_server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(text(f"CREATE DATABASE {name}"))
    yield engine.url.set(database=name).render_as_string(hide_password=False)
    with engine.connect() as connection:
        connection.execute(text(f"DROP DATABASE {name} WITH (FORCE)"))
    engine.dispose()
