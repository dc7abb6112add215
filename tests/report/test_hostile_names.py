"""Whatever a flow, a task or a worker is called, reports and traces hold it as text only."""

from __future__ import annotations

import html.parser
import json

import pytest

from orchestrator_core.clean_text import clean
from orchestrator_core.report import render, write
from orchestrator_core.report.trace import trace_of, write_trace
from tests.payloads import PAYLOADS
from tests.report.hostile import HARMLESS, NAMES, WORKERS, run_of


class Markup(html.parser.HTMLParser):
    """All that is not text in a page, in order; and the text outside of scripts."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.found: list[object] = []
        self.text: list[str] = []
        self._inside = ""
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self._inside = tag
        # The policy of the page names the digest of its script, which is the same in both.
        self.found.append((tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self._inside = ""
        self.found.append(f"/{tag}")

    def handle_comment(self, data: str) -> None:
        self.found.append(("comment", data))

    def handle_decl(self, decl: str) -> None:
        self.found.append(("declaration", decl))

    def unknown_decl(self, data: str) -> None:
        self.found.append(("unknown", data))

    def handle_pi(self, data: str) -> None:
        self.found.append(("instruction", data))

    def handle_data(self, data: str) -> None:
        if self._inside not in ("script", "style"):
            self.text.append(data)


def test_there_are_two_hundred_payloads() -> None:
    assert len(PAYLOADS) == len(set(PAYLOADS)) >= 200
    assert len(set(NAMES)) == len(NAMES)


@pytest.fixture(scope="module")
def harmless() -> Markup:
    return Markup(render(run_of(HARMLESS, "flow")))


def test_a_page_of_tasks_workers_and_kinds_with_such_names_has_no_more_markup(
    harmless: Markup,
) -> None:
    page = render(run_of(NAMES, "flow"))
    assert Markup(page).found == harmless.found
    data = json.loads(page.split('id="data">', 1)[1].split("</script>", 1)[0])
    assert sorted(data["tasks"]) == sorted(NAMES)


def test_a_page_of_a_flow_with_such_a_name_has_no_more_markup() -> None:
    few = tuple(f"task {i}" for i in range(WORKERS))
    plain, drawing = in_two(render(run_of(few, "flow")))
    wanted = Markup(plain).found
    for payload in PAYLOADS:
        page, drawn = in_two(render(run_of(few, payload)))
        hostile = Markup(page)
        assert drawn == drawing, payload
        assert hostile.found == wanted, payload
        assert clean(payload) in "".join(hostile.text), payload


def in_two(page: str) -> tuple[str, str]:
    """The page up to the drawing's data, and the rest."""
    head, rest = page.split("<style>"), page.split("</style>")
    assert len(head) == len(rest) == 2
    front, _, back = rest[1].partition('<script type="application/json"')
    return head[0] + front, back


def test_no_page_turns_the_direction_of_what_stands_beside_a_name() -> None:
    page = render(run_of(NAMES, "\u202eflow"))
    outside = page.split('<script type="application/json"')[0]
    assert not set("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069") & set(outside)
    assert not any(ord(c) < 0x20 and c != "\n" for c in outside)


def test_a_trace_holds_every_name_as_a_string_of_json(tmp_path) -> None:
    run = run_of(NAMES, PAYLOADS[0])
    text = write_trace(run, tmp_path / "t.json").read_text(encoding="ascii")
    trace = json.loads(text)
    assert trace == json.loads(json.dumps(trace_of(run)))
    assert {e["name"] for e in trace["traceEvents"] if e["ph"] == "X"} >= set(NAMES)
    assert not any(ord(c) < 0x20 for c in text)


def test_no_name_is_a_place_to_write_to(tmp_path, monkeypatch) -> None:
    """Only the file that was asked for is there afterwards."""
    inside = tmp_path / "inside"
    inside.mkdir()
    monkeypatch.chdir(inside)
    run = run_of(NAMES, "../../owned")
    write(run, "r.html")
    write_trace(run, "t.json")
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*")}
    assert left == {"inside", "inside/r.html", "inside/t.json"}
