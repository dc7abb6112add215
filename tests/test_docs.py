"""What the guides say is so: their commands parse, their messages are those that are given."""

from __future__ import annotations

import ast
import functools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from orchestrator_core.cli.app import app

ROOT = Path(__file__).parent.parent
GUIDES = ("guide", "how-it-decides", "when-it-is-wrong", "glossary")
TEXTS = {name: (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8") for name in GUIDES}


def snippets() -> list[tuple[str, str]]:
    found = [
        (name, re.findall(r"```python\n(.*?)```", text, re.DOTALL)) for name, text in TEXTS.items()
    ]
    return [(name, code) for name, codes in found for code in codes]


def spoken(text: str) -> list[str]:
    """What stands between backticks, and the lines that are set apart by four spaces."""
    apart = re.findall(r"^    (\S.*)$", text, re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", re.sub(r"```.*?```", "", text, flags=re.DOTALL)) + apart


def commands() -> list[tuple[str, str]]:
    lines = [(name, line) for name, text in TEXTS.items() for line in spoken(text)]
    return [(name, line) for name, line in lines if re.match(r"orchestrator [a-z]", line)]


@pytest.mark.parametrize(("guide", "code"), snippets())
def test_every_snippet_is_python_and_imports_what_exists(guide: str, code: str) -> None:
    compile(code, f"{guide}.md", "exec")
    for line in re.findall(r"^(?:from|import) orchestrator.*$", code, re.MULTILINE):
        exec(line.split("#")[0], {})


@pytest.mark.parametrize(("guide", "line"), commands())
def test_every_command_is_one_and_knows_its_options(guide: str, line: str) -> None:
    """Parsed as the command line would; nothing is run."""
    words = shlex.split(line.partition("  ")[0])[1:]
    command = typer.main.get_command(app)
    context = command.make_context("orchestrator", ["--help"], resilient_parsing=True)
    while hasattr(command, "commands"):
        assert words[0] in command.commands, line
        command, words = command.commands[words[0]], words[1:]
    if words:
        command.make_context(line, words, parent=context)


@functools.cache
def sources() -> tuple[str, ...]:
    """All texts in the source; what is joined where it stands is one text, and the parts of a
    formatted one are told apart."""
    found = []
    for package in ("orchestrator_core", "orchestrator_prefect"):
        for path in (ROOT / package).rglob("*.py"):
            tree = ast.parse(path.read_bytes())
            nodes = (node for node in ast.walk(tree) if isinstance(node, ast.Constant))
            found += [node.value for node in nodes if isinstance(node.value, str)]
    return tuple(found)


def messages() -> Iterator[tuple[str, str]]:
    """What the guides say that one will read: in the first column of their tables, or set apart."""
    for name in ("how-it-decides", "when-it-is-wrong"):
        for row in re.findall(r"^\| `([^`]+)` \|", TEXTS[name], re.MULTILINE):
            yield name, row
    for row in re.findall(r"^    (\S.*)$", TEXTS["how-it-decides"], re.MULTILINE):
        yield "how-it-decides", row


@pytest.mark.parametrize(("guide", "message"), list(messages()))
def test_every_message_is_one_that_is_given(guide: str, message: str) -> None:
    """An ellipsis stands for what is different each time."""
    parts = [part for part in re.split(r"…|(?<= )\d+(?=%)", message) if part.strip()]
    assert parts
    for part in parts:
        assert any(part.strip() in text for text in sources()), part


def test_every_link_leads_somewhere() -> None:
    for name, text in TEXTS.items():
        for link in re.findall(r"\]\(([^)]+)\)", text):
            if "://" not in link:
                assert (ROOT / "docs" / link.partition("#")[0]).exists(), (name, link)


def test_every_word_of_the_glossary_is_told_once() -> None:
    words = re.findall(r"^\| ([^|]+?) \|", TEXTS["glossary"], re.MULTILINE)[1:]
    assert len(words) == len(set(words)) >= 30
