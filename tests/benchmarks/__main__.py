"""`./dev bench [NAME ...] [--json FILE]`: speeds and sizes, measured now, on this machine.

Each module beside this one has `measure() -> dict`: its figures, medians of several runs where
that makes sense. Nothing here is a test: a slow machine is not a bug.
"""

from __future__ import annotations

import argparse
import datetime
import importlib
import json
import os
import pkgutil
import platform
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "ortools", "dask", "distributed", "prefect", "prefect-dask")


def main(arguments: list[str]) -> int:
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    names = [name for name in names if not name.startswith("_")]
    parser = argparse.ArgumentParser(prog="./dev bench", description=__doc__.split("\n")[0])
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    options = parser.parse_args(arguments)
    for name in options.name:
        if name not in names:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(names)}")
    results: dict[str, Any] = {"machine": _machine()}
    print(json.dumps(results["machine"], indent=2), flush=True)
    for name in options.name or names:
        results[name] = importlib.import_module(f"tests.benchmarks.{name}").measure()
        print(json.dumps({name: results[name]}, indent=2), flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    return 0


def _machine() -> dict[str, Any]:
    return {
        "date": datetime.date.today().isoformat(),
        "cores": os.cpu_count(),
        "processor": platform.processor() or platform.machine(),
        "python": platform.python_version(),
        "versions": {package: version(package) for package in PACKAGES},
        "load": round(os.getloadavg()[0], 2),
    }


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
