"""The pictures and outputs of README and guide, from real runs: ./dev pictures

Runs the demo, and the guide's flow twice; asks what the guide asks; writes the SVG files beside
this script, and what stands between the marks in README.md and docs/guide.md. Takes about five
minutes; do it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from contextlib import closing
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT), str(ROOT / "examples")]

from making.asked import COLUMNS, ask  # noqa: E402
from making.charts import before_and_after, planned_above_actual  # noqa: E402
from making.guide_run import ARTIFACTS, run_twice  # noqa: E402
from making.masked import masked, told  # noqa: E402
from making.terminal import picture  # noqa: E402
from making.texts import indented, put, quoted  # noqa: E402

import orchestrator_core as oc  # noqa: E402

README, GUIDE = ROOT / "README.md", ROOT / "docs" / "guide.md"
STORE = "schedules.db"

QUESTIONS = {
    "plan": "orchestrator plan my_flow.py:pipeline",
    "why": "orchestrator why last train-0",
    "whatif": "orchestrator whatif last --faster train=2x",
    "diff": "orchestrator diff last~1 last",
    "config": "orchestrator config --show-origin",
    "doctor": "orchestrator doctor",
    "explain": "orchestrator explain conduct.py:attention" + 3 * " --arg f32[1,2048,4,64]",
}
"""Asked in the folder of the guide's run, which has a pyproject.toml and the example beside it."""

SETTINGS = "[tool.orchestrator]\nmin_gain = 0.1\n"


def main() -> int:
    parser = argparse.ArgumentParser(prog="./dev pictures", description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--folder", metavar="DIR", help="keep the runs in DIR; those there are used"
    )
    given = parser.parse_args().folder
    folder = Path(given or tempfile.mkdtemp(prefix="orchestrator-pictures-")).resolve()
    for part, run in (("demo", _run_demo), ("guide", _run_guide)):
        place = folder / part
        if not (place / "done").exists():
            place.mkdir(parents=True, exist_ok=True)
            run(place)
            (place / "done").touch()
    _show_demo(folder / "demo")
    _show_guide(folder / "guide")
    return 0


def _run_demo(folder: Path) -> None:
    _say("the demo")
    demo = [sys.executable, str(ROOT / "examples" / "demo.py"), "--folder", str(folder)]
    demo += ["--json", str(folder / "figures.json")]
    done = subprocess.run(demo, stdout=subprocess.PIPE, text=True, check=True)
    (folder / "printed.txt").write_text(done.stdout, encoding="utf-8")


def _run_guide(folder: Path) -> None:
    _say("the guide's flow, twice")
    run_twice(GUIDE, folder, str(folder / STORE))


def _show_demo(folder: Path) -> None:
    watched, planned = _last_runs(folder)
    figures = json.loads((folder / "figures.json").read_text(encoding="utf-8"))
    svg, words = before_and_after(watched, planned, figures)
    _write("demo", svg)
    put(f"![{words}](docs/pictures/demo.svg)", "demo picture", README)
    printed = (folder / "printed.txt").read_text(encoding="utf-8")
    put(indented(masked(printed, {folder: "/tmp/orchestrator-demo-..."})), "demo output", README)


def _show_guide(folder: Path) -> None:
    svg, words = planned_above_actual(_last_runs(folder)[1])
    _write("report", svg)
    put(f"![{words}](pictures/report.svg)", "report picture", GUIDE)
    for what in ARTIFACTS:
        put(quoted((folder / f"{what}.md").read_text(encoding="utf-8")), f"artifact {what}", GUIDE)
    (folder / "pyproject.toml").write_text(SETTINGS, encoding="utf-8")
    (folder / "conduct.py").write_bytes((ROOT / "examples" / "conduct.py").read_bytes())
    for name, question in QUESTIONS.items():
        _say(question)
        # Tables are laid out before paths are masked: in this one, the folder is home.
        own = {"config": {"HOME": str(folder)}, "explain": {"ORCHESTRATOR_PLAN_CACHE": "off"}}
        settings = {"ORCHESTRATOR_DB": STORE, "ORCHESTRATOR_COMPILE": "wait"} | own.get(name, {})
        printed = ask(question, folder, settings)
        places = {folder: "~/demo", ROOT: "~/orchestrator", Path.home(): "~"}
        _write(name, picture(question, masked(printed, places), COLUMNS))


def _last_runs(folder: Path) -> list[oc.RunRecord]:
    """The last two, the older one first."""
    with closing(oc.ScheduleStore(str(folder / STORE))) as store:
        return [store.run(found.run_id) for found in store.runs(limit=2)][::-1]


def _write(name: str, svg: str) -> None:
    """Writes the picture.

    Raises:
        ValueError: if it tells something about this machine.
    """
    if found := told(svg):
        raise ValueError(f"{name}.svg holds {', '.join(found)}: see making/masked.py")
    (HERE / f"{name}.svg").write_text(svg, encoding="utf-8")


def _say(what: str) -> None:
    print(f"pictures: {what}", flush=True)


if __name__ == "__main__":
    sys.exit(main())
