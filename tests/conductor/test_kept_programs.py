"""What one process compiles, the next one loads."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import jax
import pytest

from orchestrator_core.conductor import kept_programs
from orchestrator_core.conductor.cost import processor

config: Any = jax.config

PROGRAM = """
import json, warnings
import jax, numpy as np
from orchestrator_core.conductor import kept_programs
from orchestrator_core.conductor.ahead import Ahead
from orchestrator_core.conductor.goal import Goal

warnings.simplefilter("error")
found = []
jax.monitoring.register_event_listener(lambda event, **_: found.append(event.rpartition("/")[2]))

def logits(x):
    return jax.nn.softmax(x @ x.T)

kept_programs.keep()
x = np.arange(12, dtype=np.float32).reshape(4, 3) / 10
made = Ahead(logits, Goal()).prepare((x,), {})()
counts = {name: found.count(name) for name in ("cache_hits", "cache_misses")}
print(json.dumps([counts, np.asarray(made).tolist()]))
"""


def ran(home: Path) -> tuple[dict[str, int], list[list[float]]]:
    """A new process that prepares a function and runs it: hits and misses, and what it returned."""
    dropped = ("JAX_COMPILATION_CACHE_DIR", "JAX_ENABLE_COMPILATION_CACHE")
    environment = {k: v for k, v in os.environ.items() if k not in dropped}
    environment |= {
        "ORCHESTRATOR_CACHE": str(home),
        "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0",
    }
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, capture_output=True, text=True, check=True
    )
    counts, made = json.loads(done.stdout.splitlines()[-1])
    return counts, made


def test_another_process_compiles_nothing_again(tmp_path: Path) -> None:
    first, made = ran(tmp_path)
    assert first["cache_misses"] > 0
    assert list(tmp_path.glob("programs/*/jit_logits-*"))
    again, same = ran(tmp_path)
    assert again["cache_misses"] == 0
    assert again["cache_hits"] == first["cache_misses"]
    assert same == made


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Of this project; JAX has been told nothing."""
    before = config.jax_compilation_cache_dir
    monkeypatch.setenv("ORCHESTRATOR_CACHE", str(tmp_path))
    config.update("jax_compilation_cache_dir", None)
    kept_programs.keep.cache_clear()
    yield tmp_path
    kept_programs.keep.cache_clear()
    config.update("jax_compilation_cache_dir", before)
    config.update("jax_enable_compilation_cache", True)


def test_jax_is_told_where(cache: Path) -> None:
    kept_programs.keep()
    assert config.jax_compilation_cache_dir == str(kept_programs.folder())
    assert kept_programs.folder().stat().st_mode & 0o077 == 0


def test_a_place_that_the_user_named_is_kept_to(cache: Path) -> None:
    config.update("jax_compilation_cache_dir", str(cache / "own"))
    kept_programs.keep()
    assert config.jax_compilation_cache_dir == str(cache / "own")
    assert not (cache / "programs").exists()


def test_nothing_is_kept_where_jax_is_told_so(cache: Path) -> None:
    config.update("jax_enable_compilation_cache", False)
    kept_programs.keep()
    assert config.jax_compilation_cache_dir is None
    assert not (cache / "programs").exists()


def test_without_a_folder_it_runs_as_ever(tmp_path: Path) -> None:
    (tmp_path / "a file").write_text("")
    counts, made = ran(tmp_path / "a file")
    assert counts == {"cache_hits": 0, "cache_misses": 0}
    assert [sum(row) for row in made] == pytest.approx([1.0] * 4)


@pytest.fixture
def a_processor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    told = tmp_path / "cpuinfo"
    monkeypatch.setattr(processor, "CPU_INFO", told)
    return told


def test_each_kind_of_processor_has_its_own(a_processor: Path) -> None:
    """An executable for a processor with AVX-512 ends another one's process."""
    places = []
    for flags in ("fpu avx2", "fpu avx2 avx512f"):
        a_processor.write_text(f"processor\t: 0\nflags\t\t: {flags}\n\nprocessor\t: 1\n")
        places.append(kept_programs.folder())
    a_processor.unlink()
    places.append(kept_programs.folder())
    assert len(set(places)) == 3
