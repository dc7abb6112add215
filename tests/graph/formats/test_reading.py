"""Which format a file is in, and what happens to files that are in none, or in a bad state."""

from __future__ import annotations

import gzip
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from orchestrator_core.errors import InvalidFormat, InvalidInput
from orchestrator_core.graph import TaskGraph
from orchestrator_core.graph.formats import FORMATS, read_cluster, read_workflow, source

INSTANCES = Path(__file__).parents[2] / "instances"
FORMAT_OF = {
    "stg-rand0012.stg": "stg",
    "psplib-j30-13.rcp": "patterson",
    "mmlib-j50-2-4.mm": "psplib",
    "jsplib-ft06.txt": "jsplib",
    "wfcommons-srasearch-10a.json.gz": "wfcommons",
}


@pytest.mark.parametrize(("name", "format"), FORMAT_OF.items())
def test_the_format_is_told_from_the_content_alone(tmp_path: Path, name: str, format: str) -> None:
    nameless = tmp_path / "workflow"
    nameless.write_bytes((INSTANCES / name).read_bytes())
    graph = read_workflow(nameless)
    assert graph == read_workflow(INSTANCES / name) == read_workflow(nameless, format)
    assert len(graph) > 20


def test_any_format_may_be_packed(tmp_path: Path) -> None:
    plain = INSTANCES / "stg-rand0012.stg"
    packed = tmp_path / "rand.stg.gz"
    packed.write_bytes(gzip.compress(plain.read_bytes()))
    assert read_workflow(packed) == read_workflow(str(plain))


def test_a_graph_that_was_saved_is_read_again(tmp_path: Path) -> None:
    graph = read_workflow(INSTANCES / "jsplib-ft06.txt")
    path = tmp_path / "graph.json"
    path.write_bytes(graph.to_json())
    assert read_workflow(path) == graph
    assert read_cluster(path) is None


def test_an_unknown_format_is_answered_with_the_known_ones() -> None:
    with pytest.raises(InvalidFormat, match=f"'dax'; the formats are {', '.join(FORMATS)}"):
        read_workflow(INSTANCES / "jsplib-ft06.txt", "dax")


@pytest.mark.parametrize("read", [read_workflow, read_cluster])
@pytest.mark.parametrize("error", [FileNotFoundError, InvalidInput])
def test_a_missing_file_is_named(
    tmp_path: Path, read: Callable[[Path], object], error: type[Exception]
) -> None:
    with pytest.raises(error, match=r"nowhere\.stg: there is no such file"):
        read(tmp_path / "nowhere.stg")


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize(
    "content",
    [b"", b" \n\n", b"hello\n", b"\x00\x01\x02", b"\x1f\x8b", b"{", b"[" * 100_000, b"-3 4\n1"],
)
def test_a_file_of_no_format_is_refused_by_name(
    tmp_path: Path, content: bytes, format: str | None
) -> None:
    path = tmp_path / "bad"
    path.write_bytes(content)
    with pytest.raises(InvalidFormat, match="bad"):
        read_workflow(path, format)


@pytest.mark.parametrize("name", FORMAT_OF)
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_file_that_was_cut_off_is_refused(tmp_path: Path, name: str, part: float) -> None:
    whole = (INSTANCES / name).read_bytes()
    for unpack in (bytes, gzip.decompress) if name.endswith(".gz") else (bytes,):
        content = unpack(whole).split(b"\n# Standard")[0]
        path = tmp_path / "cut"
        path.write_bytes(content[: int(part * len(content))])
        with pytest.raises(InvalidFormat, match="cut"):
            read_workflow(path, FORMAT_OF[name])


@pytest.mark.parametrize(("name", "format"), FORMAT_OF.items())
def test_a_mark_of_the_encoding_is_passed_over(tmp_path: Path, name: str, format: str) -> None:
    """Editors put it before what they save, JSON too."""
    whole = (INSTANCES / name).read_bytes()
    path = tmp_path / Path(name).with_suffix("" if name.endswith(".gz") else Path(name).suffix).name
    path.write_bytes(b"\xef\xbb\xbf" + (gzip.decompress(whole) if name.endswith(".gz") else whole))
    assert read_workflow(path, format) == read_workflow(INSTANCES / name, format)


@pytest.mark.parametrize("format", [None, *FORMATS])
@pytest.mark.parametrize("alphabet", [b"0123456789 \n", bytes(range(256)), b"a"])
def test_ten_megabytes_of_junk_are_refused(
    tmp_path: Path, alphabet: bytes, format: str | None
) -> None:
    letters = np.frombuffer(alphabet, dtype=np.uint8)
    drawn = np.random.default_rng(1).integers(0, len(letters), 10_000_000)
    path = tmp_path / "junk"
    path.write_bytes(letters[drawn].tobytes())
    with pytest.raises(InvalidFormat, match="junk"):
        read_workflow(path, format)


def test_a_gzip_bomb_is_refused_long_before_it_is_unpacked(tmp_path: Path) -> None:
    path = tmp_path / "bomb.json.gz"
    path.write_bytes(gzip.compress(bytes(64_000_000), compresslevel=1))
    with pytest.raises(
        InvalidFormat, match=r"bomb\.json\.gz: \d+ bytes of gzip unpack to far more"
    ):
        read_workflow(path)


def test_a_file_beyond_the_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 10)
    path = tmp_path / "large.stg"
    path.write_text("1\n" * 6, encoding="utf-8")
    with pytest.raises(InvalidFormat, match=r"large\.stg: larger than 10 bytes"):
        read_workflow(path)


@contextmanager
def pipe(content: bytes) -> Iterator[str]:
    """The name of a pipe that holds this, and that nobody writes to any more."""
    out, into = os.pipe()
    try:
        os.write(into, content)
        os.close(into)
        yield f"/dev/fd/{out}"
    finally:
        os.close(out)


def test_a_pipe_is_read_to_its_end() -> None:
    plain = INSTANCES / "stg-rand0012.stg"
    with pipe(plain.read_bytes()) as path:
        assert read_workflow(path) == read_workflow(plain)


def test_a_pipe_that_holds_more_than_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 10)
    with pipe(b"1\n" * 6) as path, pytest.raises(InvalidFormat, match="larger than 10 bytes"):
        read_workflow(path)


def test_a_device_is_no_file_to_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source, "MAX_BYTES", 10)  # for whom this one never ends
    with pytest.raises(InvalidFormat, match="/dev/zero: neither a file nor a pipe"):
        read_workflow("/dev/zero")


def test_a_cycle_in_a_file_names_the_file_and_the_tasks(tmp_path: Path) -> None:
    path = tmp_path / "cycle.rcp"
    path.write_text("2 0\n1 1 2\n1 1 1\n", encoding="utf-8")
    with pytest.raises(
        InvalidFormat, match=r"cycle\.rcp: .*the graph has a cycle: '2' -> '1' -> '2'"
    ):
        read_workflow(path)


def test_an_empty_graph_can_be_saved_and_read(tmp_path: Path) -> None:
    path = tmp_path / "none.json"
    path.write_bytes(TaskGraph.from_tasks([]).to_json())
    assert len(read_workflow(path)) == 0
