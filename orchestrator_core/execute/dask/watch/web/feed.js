// What is known of the run, and asking for what has changed since.

let chosen = null;                           // the run that somebody picked; null: the newest
let known = fresh(null), status = null, asked = 0;

function fresh(runId) {
  return { runId, version: 0, planned: [], recorded: [], open: [], run: null, now: 0, at: 0,
    kinds: new Map(), lanes: null, plannedOf: new Map(), actualOf: new Map() };
}

function colour(kind) {
  if (!known.kinds.has(kind)) known.kinds.set(kind, known.kinds.size);
  return palette[known.kinds.get(kind)] ?? OTHER;
}

async function ask() {
  const mine = ++asked;
  let wait = EVERY;
  try {
    const query = new URLSearchParams({ planned: known.planned.length,
      recorded: known.recorded.length, version: known.version });
    if (known.runId) query.set("run", known.runId);
    const answer = await fetch(`${location.pathname.replace(/\/$/, "")}/data.json?${query}`);
    if (mine !== asked) return;
    if (answer.status === 404) throw new Error("gone");
    if (!answer.ok) throw new Error(`it answered ${answer.status}`);
    if (take(await answer.json())) wait = AT_ONCE;
  } catch (error) {
    alarm(error.message === "gone" ? "The plugin is no longer on this scheduler."
      : "The scheduler does not answer; this is how it was when it did last.");
  }
  if (mine === asked) setTimeout(ask, document.hidden ? 5 * EVERY : wait);
}

function restart(runId) {
  known = fresh(runId);
  from = to = null;
}

// Returns whether more is there to be fetched.
function take(data) {
  status = data.status;
  const newest = status.runs.length ? status.runs[status.runs.length - 1].run_id : null;
  if (chosen && !status.runs.some((run) => run.run_id === chosen)) chosen = null;
  const wanted = chosen ?? newest;
  if (wanted !== known.runId) {
    restart(wanted);
    return true;
  }
  const gantt = data.gantt;
  if (gantt) {
    if (gantt.version !== known.version || gantt.planned_from !== known.planned.length) {
      known.planned = [];
      known.plannedOf = new Map();
      known.version = gantt.version;
      if (gantt.planned_from) return true;
    }
    const news = gantt.planned.length + gantt.recorded.length;
    for (const row of gantt.planned) { known.planned.push(row); known.plannedOf.set(row[0], row); }
    if (gantt.recorded_from === known.recorded.length)
      for (const row of gantt.recorded) { known.recorded.push(row); known.actualOf.set(row[0], row); }
    Object.assign(known, { run: gantt.run, now: gantt.now, open: gantt.open, at: performance.now() });
    if (news) known.lanes = null;
  }
  show();
  return Boolean(gantt) && (known.planned.length < gantt.planned_total
    || known.recorded.length < gantt.recorded_total);
}
