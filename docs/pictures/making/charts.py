"""The charts of the pictures: what they hold, in bars and in words."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from making.chart import Chart, Panel
from orchestrator_core import RunRecord
from orchestrator_core.report.critical_path import critical_path
from orchestrator_core.report.gantt import Bars, gantt_data


def before_and_after(
    watched: RunRecord, planned: RunRecord, figures: Mapping[str, float]
) -> tuple[str, str]:
    """(SVG, the same in words) of the demo's watched run above its planned one.

    `figures` are those that the demo prints, in seconds: the pictures say the same.
    """
    stock, alone, ours = (figures[name] for name in ("stock_s", "observed_s", "actual_s"))
    where = f"{len(planned.graph)} tasks on {len(planned.cluster)} workers"
    promised = {"predicted": figures["predicted_s"], "bound": figures["lower_bound_s"]}
    said = f"Dask's own order: {alone:.1f} s", f"Planned: {ours:.1f} s"
    panels = [
        Panel(_data(watched), said[0], f"{where}; @flow and DaskTaskRunner took {stock:.1f} s"),
        Panel(_data(planned) | promised, said[1], "the next run of the same flow", marks=True),
    ]
    words = f"{where} of different speeds, bar by bar. {said[0]}. {said[1]}"
    return Chart(panels).svg(words), words + _promise(*promised.values()) + "."


def planned_above_actual(run: RunRecord) -> tuple[str, str]:
    """(SVG, the same in words) of a run below its plan."""
    where = f"{len(run.graph)} tasks on {len(run.cluster)} workers"
    panel = Panel(
        _data(run), run.flow, f"{where} in {run.seconds:.1f} s", planned=True, marks=True, path=True
    )
    promise = "" if run.plan is None else _promise(run.plan.predicted, run.plan.lower_bound)
    words = f"The flow {run.flow}: for each worker the planned bars above the actual ones"
    return Chart([panel]).svg(words), f"{words}; it took {run.seconds:.1f} s{promise}."


def _promise(predicted: float, bound: float) -> str:
    return f", predicted {predicted:.1f} s, and no plan can beat {bound:.1f} s"


def _data(run: RunRecord) -> dict[str, Any]:
    bars = Bars.of(run)
    chain = critical_path(bars.actual, run.graph)
    return gantt_data(run, bars, {link.bar.task for link in chain})
