"""`python -m tests.benchmarks.conductor [--json FILE]`: the table on whatever device JAX finds.

Needs JAX, NumPy, SciPy and this checkout, so that it runs on a machine with a GPU and nothing else.
"""

from __future__ import annotations

import argparse
import datetime
import json
import platform
from pathlib import Path

import jax
import numpy as np
import scipy

from tests.benchmarks.conductor import add_options, measure


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--json", metavar="FILE", help="write the figures to FILE")
    add_options(parser)
    options = parser.parse_args()
    machine = {
        "date": datetime.date.today().isoformat(),
        "device": jax.devices()[0].device_kind,
        "platform": jax.default_backend(),
        "python": platform.python_version(),
        "versions": {each.__name__: each.__version__ for each in (jax, np, scipy)},
    }
    print(json.dumps(machine, indent=2), flush=True)
    found = {"machine": machine, **measure(options)}
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
