"""The README's code runs, and prints what the README says."""

from __future__ import annotations

import contextlib
import io
import re
from pathlib import Path

from orchestrator_core.plan.warm import warm_up

README = (Path(__file__).parent.parent / "README.md").read_text(encoding="utf-8")


def snippets():
    return re.findall(r"```python\n(.*?)```", README, re.DOTALL)


def between(name):
    """What stands between the marks of that name, without its indentation."""
    text = README.split(f"<!-- {name} begins -->\n")[1].split(f"<!-- {name} ends -->")[0]
    return "\n".join(line.removeprefix("    ") for line in text.strip("\n").splitlines())


def test_planning_by_hand_prints_what_the_readme_shows_and_other_questions_follow():
    by_hand = next(code for code in snippets() if "TaskGraph.build()" in code)
    others = next(code for code in snippets() if "oc.pareto(" in code)
    warm_up()  # what a first plan of a process has to load is not the plan's budget
    printed, names = io.StringIO(), {}
    with contextlib.redirect_stdout(printed):
        exec(compile(by_hand, "README.md", "exec"), names)
    assert printed.getvalue().strip() == between("by hand output").strip()
    exec(compile(others, "README.md", "exec"), names)


def test_every_snippet_is_python_and_imports_what_exists():
    for code in snippets():
        compile(code, "README.md", "exec")
        for line in re.findall(r"^(?:from|import) orchestrator.*$", code, re.MULTILINE):
            exec(line.split("#")[0], {})


def test_the_commands_exist():
    commands = set(re.findall(r"^    orchestrator (\w+)", README, re.MULTILINE))
    from orchestrator_core.cli.app import app

    known = {c.name or c.callback.__name__.rstrip("_") for c in app.registered_commands}
    assert commands <= known | {group.name for group in app.registered_groups}
