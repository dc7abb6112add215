"""`./dev bench [NAME ...] [--json FILE]`: speeds and sizes, measured now, on this machine.

Each module beside this one has `measure() -> dict`: its figures, medians of several runs where
that makes sense. One that also has `add_options(parser)` is given the parsed options, and one that
has `SHOWS_ITSELF` prints what it finds. Nothing here is a test: a slow machine is not a bug.
"""

from __future__ import annotations

import argparse
import contextlib
import datetime
import importlib
import json
import os
import pkgutil
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

PACKAGES = ("numpy", "numba", "scipy", "ortools", "dask", "distributed", "prefect", "prefect-dask")
OTHERS = ("anrg-saga", "pyjobshop")
"""Those that only some benchmarks need."""


def main(arguments: list[str]) -> int:
    names = sorted(m.name for m in pkgutil.iter_modules([str(Path(__file__).parent)]))
    names = [name for name in names if not name.startswith("_")]
    parser = argparse.ArgumentParser(
        prog="./dev bench",
        description=__doc__.split("\n")[0],
        conflict_handler="resolve",  # several benchmarks may share an option, such as --data
    )
    parser.add_argument("name", nargs="*", help=f"of {', '.join(names)}; default: all")
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    asked = [word for word in arguments if word in names]
    modules = {name: importlib.import_module(f"tests.benchmarks.{name}") for name in asked or names}
    for module in modules.values():
        if hasattr(module, "add_options"):
            module.add_options(parser)
    options = parser.parse_args(arguments)
    for name in options.name:
        if name not in names:
            parser.error(f"there is no benchmark {name!r}; there are {', '.join(names)}")
    results: dict[str, Any] = {"machine": _machine()}
    print(json.dumps(results["machine"], indent=2), flush=True)
    for name in options.name or names:
        module = modules[name]
        given = (options,) if hasattr(module, "add_options") else ()
        results[name] = module.measure(*given)
        if not hasattr(module, "SHOWS_ITSELF"):
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
        "versions": {package: version(package) for package in PACKAGES} | _others(),
        "load": round(os.getloadavg()[0], 2),
    }


def _others() -> dict[str, str]:
    found = {}
    for package in OTHERS:
        with contextlib.suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
