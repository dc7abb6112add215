// What stands above the chart: the run, the choice of another, its figures.

function card(label, value, remark, tone, part) {
  const made = element("div", "card");
  made.append(element("span", "label", label), element("span", `value ${tone ?? ""}`, value),
    element("span", "remark", remark));
  if (part !== undefined) {
    const track = element("div", "track"), bar = element("i");
    bar.style.width = `${100 * part}%`;
    track.append(bar);
    made.append(track);
  }
  return made;
}

function cards(run) {
  const made = [], counts = status.counters, planned = run.predicted !== undefined;
  made.push(card("done", `${run.done.toLocaleString("en")} / ${run.tasks.toLocaleString("en")}`,
    `tasks, after ${time(run.seconds)}`, "", run.tasks ? run.done / run.tasks : 0));
  if (planned && Number.isFinite(run.late_by)) {
    made.push(run.closed ? card("took", time(run.seconds), `planned: ${time(run.predicted)}`)
      : card("expected end", time(run.expected_end),
        `in ${time(Math.max(0, run.expected_end - run.seconds))}; planned: ${time(run.predicted)}`));
    const share = run.predicted > 0 ? run.late_by / run.predicted : 0;
    const tone = share > 0.02 ? "bad" : share < -0.02 ? "good" : "";
    made.push(card(share < -0.02 ? "ahead by" : "late by", time(Math.abs(run.late_by)),
      `${(100 * Math.abs(share)).toFixed(1)} % of the plan`, tone));
  }
  else if (planned) made.push(card("planned end", time(run.predicted), run.mode === "planned" ? "by the plan" : "the plan is not followed"));
  if (planned) {
    if (run.lower_bound > 0) made.push(card("lower bound", time(run.lower_bound), "no plan can end earlier"));
    if (run.default_predicted) made.push(card("Dask's own way", time(run.default_predicted), "expected, by simulation"));
  }
  made.push(card("moved · held", `${counts.moved} · ${counts.held}`,
    `tasks; ${many(counts.released, "task")} left to Dask, ${many(counts.replans, "replan")}`));
  by("cards").replaceChildren(...made);
}

function choice() {
  const runs = status.runs, select = by("runs");
  by("choice").hidden = runs.length < 2;
  if (document.activeElement === select) return;
  select.replaceChildren(...runs.toReversed().map((run) => {
    const option = element("option", "", `${run.flow} · ${run.run_id.slice(0, 8)} · ${run.done}/${run.tasks}`);
    option.value = run.run_id;
    option.selected = run.run_id === known.runId;
    return option;
  }));
}

function show() {
  const run = known.run;
  alarm(status.withdrawn ? `The plugin has withdrawn, and Dask goes on alone: ${status.withdrawn}` : null);
  choice();
  by("chart").hidden = by("hint").hidden = !run;
  if (!run) {
    by("flow").textContent = "Orchestrator";
    by("where").textContent = ["no run is under way", `mode ${status.mode}`,
      many(status.workers.length, "worker"), status.holdup].filter(Boolean).join(" · ");
    by("cards").replaceChildren();
    return;
  }
  document.title = `${run.done}/${run.tasks} ${run.flow} · Orchestrator`;
  by("flow").textContent = run.flow;
  by("where").textContent = [`${run.closed ? "ended" : run.mode}`, `run ${run.run_id.slice(0, 8)}`,
    `${many(run.tasks, "task")} on ${many(status.workers.length, "worker")}`,
    run.planner ? `${run.planner}, ${run.cache === "hit" ? "a stored schedule" : `planned in ${time(run.planning_seconds)}`}` : "",
    run.reason].filter(Boolean).join(" · ");
  cards(run);
  draw();
  legend();
}
