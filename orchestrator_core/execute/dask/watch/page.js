"use strict";
(() => {
  const by = (id) => document.getElementById(id);
  const canvas = by("gantt"), tip = by("tip"), pen = canvas.getContext("2d");
  const EVERY = 1000, AT_ONCE = 20;            // ms between two questions; while rows are missing
  const TOP = 40, AXIS = 28, RIGHT = 14;       // px around the bars
  const MOST_LANES = 96;                       // more threads than these: a worker is one area
  const palette = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e0ac2b", "#2a9d8f", "#9d755d",
    "#d67195", "#6f9ceb", "#b5651d"];
  const OTHER = "#8c8c8c";
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // --- what is known --------------------------------------------------------------------------

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

  // --- words ----------------------------------------------------------------------------------

  const time = (s) => s === null || s === undefined ? "–" : Math.abs(s) >= 7200 ? `${(s / 3600).toFixed(2)} h`
    : Math.abs(s) >= 600 ? `${(s / 60).toFixed(1)} min` : Math.abs(s) >= 100 ? `${s.toFixed(1)} s`
    : Math.abs(s) >= 0.1 || s === 0 ? `${s.toFixed(2)} s` : `${(s * 1000).toPrecision(2)} ms`;
  const many = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
  const kindName = (kind) => {
    const name = kind.split(/[.:/]/).pop() || kind;
    return name.replace(/-[0-9a-f]{8,}$/, "") || name;
  };

  function alarm(text) {
    by("alarm").hidden = !text;
    by("alarm").textContent = text ?? "";
  }

  function element(tag, className, text) {
    const made = document.createElement(tag);
    if (className) made.className = className;
    if (text !== undefined) made.textContent = text;
    return made;
  }

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
      made.push(card("lower bound", time(run.lower_bound), "no plan can end earlier"));
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
      by("where").textContent = `nothing has run yet · mode ${status.mode} · ${many(status.workers.length, "worker")}`;
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

  // --- lanes: threads of workers ---------------------------------------------------------------

  // Bars that overlap on a worker get different lanes, as few as possible.
  // never more than it has threads: clocks are not that exact.
  function pack(rows) {
    const ends = new Map(), packed = new Map();
    const threads = new Map(status.workers.map((w) => [w.name, w.threads]));
    for (const row of [...rows].sort((a, b) => a[3] - b[3])) {
      if (!ends.has(row[2])) { ends.set(row[2], []); packed.set(row[2], []); }
      const free = ends.get(row[2]), slack = 0.02 * (row[4] - row[3]) + 1e-6;
      let lane = free.findIndex((end) => end <= row[3] + slack);
      if (lane < 0) lane = free.length < (threads.get(row[2]) ?? Infinity) ? free.length : free.indexOf(Math.min(...free));
      free[lane] = row[4];
      packed.get(row[2]).push([row, lane]);
    }
    return { packed, ends };
  }

  function lanes() {
    if (known.lanes) return known.lanes;
    const plan = pack(known.planned), real = pack(known.recorded);
    const names = [...new Set([...status.workers.map((w) => w.name), ...plan.packed.keys(), ...real.packed.keys()])];
    return known.lanes = { plan, real, names };
  }

  let bands = [], LEFT = 120, laneHeight = 20, width = 0, height = 0, hits = [], asAreas = false;

  function layout() {
    const { plan, real, names } = lanes(), about = new Map(status.workers.map((w) => [w.name, w]));
    const used = (name) => Math.max(1, plan.ends.get(name)?.length ?? 0, real.ends.get(name)?.length ?? 0,
      known.open.filter((row) => row[2] === name && row[3] === "running").length);
    bands = names.map((name) => ({ name, worker: about.get(name), lanes: used(name) }));
    const total = bands.reduce((sum, band) => sum + band.lanes, 0);
    asAreas = total > MOST_LANES && total > bands.length;
    const rows = asAreas ? bands.length : total, gap = bands.length > 24 ? 3 : 8;
    const room = Math.max(280, window.innerHeight - 400) - TOP - AXIS - gap * bands.length;
    laneHeight = Math.max(bands.length > 24 ? 10 : 12, Math.min(38, Math.floor(room / rows)));
    let y = TOP;
    for (const band of bands) {
      band.top = y;
      y = band.bottom = y + (asAreas ? 1 : band.lanes) * laneHeight;
      y += gap;
    }
    height = y + AXIS;
  }

  // --- drawing ---------------------------------------------------------------------------------

  let from = null, to = null;                  // what is in view; null: everything, and follow
  const end = () => Math.max(known.run?.predicted ?? 0, known.run?.closed ? known.run.seconds : moment(),
    known.run?.expected_end ?? 0, 0.01);
  const moment = () => known.run?.closed ? known.run.seconds
    : known.now + Math.min(2 * EVERY, performance.now() - known.at) / 1000;
  const first = () => from ?? 0;
  const last = () => to ?? end() * 1.03;
  const x = (t) => LEFT + (t - first()) / (last() - first()) * (width - LEFT - RIGHT);
  const timeAt = (px) => first() + (px - LEFT) / (width - LEFT - RIGHT) * (last() - first());

  function draw() {
    if (!known.run) return;
    layout();
    const scale = window.devicePixelRatio || 1;
    width = canvas.parentElement.clientWidth;
    LEFT = Math.min(190, 24 + Math.max(...bands.map((band) => Math.max(band.name.length * 7.4, 70))));
    canvas.width = width * scale; canvas.height = height * scale; canvas.style.height = `${height}px`;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    pen.clearRect(0, 0, width, height);
    hits = [];
    stripes();
    axis();
    pen.save();
    pen.beginPath(); pen.rect(LEFT, 0, width - LEFT, height); pen.clip();
    if (asAreas) areas(); else { ghosts(); real(); running(); }
    pen.restore();
    marks();
    names();
  }

  function stripes() {
    pen.fillStyle = css("--card");
    for (const band of bands) pen.fillRect(LEFT, band.top, width - LEFT - RIGHT, band.bottom - band.top);
  }

  function axis() {
    const rough = (last() - first()) / 8, power = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
    const digits = Math.max(0, -Math.floor(Math.log10(step) + 1e-9));
    pen.strokeStyle = css("--line"); pen.fillStyle = css("--soft"); pen.lineWidth = 1;
    pen.font = "12px system-ui, sans-serif"; pen.textAlign = "center";
    for (let t = Math.max(0, Math.ceil(first() / step) * step); t <= last(); t += step) {
      const px = Math.round(x(t)) + 0.5;
      pen.beginPath(); pen.moveTo(px, TOP - 4); pen.lineTo(px, height - AXIS); pen.stroke();
      pen.fillText(`${t.toFixed(digits)} s`, Math.max(px, LEFT + 12), height - AXIS + 18);
    }
  }

  const seen = (row) => row[4] >= first() && row[3] <= last();

  function box(band, lane, start, stop) {
    const left = x(start), right = x(stop);
    return [left, band.top + lane * laneHeight, Math.max(0.7, right - left), laneHeight];
  }

  // What was planned: pale and outlined, as high as the lane.
  function ghosts() {
    const { plan } = lanes();
    for (const band of bands) for (const [row, lane] of plan.packed.get(band.name) ?? []) {
      if (!seen(row)) continue;
      const [left, top, w, h] = box(band, lane, row[3], row[4]);
      pen.fillStyle = pen.strokeStyle = colour(row[1]);
      pen.globalAlpha = 0.16;
      pen.fillRect(left, top, w, h);
      if (w > 3) {
        pen.globalAlpha = 0.75; pen.lineWidth = 1;
        pen.strokeRect(Math.round(left) + 0.5, top + 0.5, Math.max(1, Math.round(w) - 1), h - 1);
      }
      hits.push([left, top, w, h, row, "planned"]);
    }
    pen.globalAlpha = 1;
  }

  // What happened: filled, a little lower than the lane, so that the plan looks out around it.
  function real() {
    const { real } = lanes(), inset = laneHeight > 14 ? 4 : 2;
    for (const band of bands) for (const [row, lane] of real.packed.get(band.name) ?? []) {
      if (!seen(row)) continue;
      const [left, top, w, h] = box(band, lane, row[3], row[4]);
      const plan = known.plannedOf.get(row[0]);
      pen.fillStyle = row[5] === "failed" ? css("--accent") : colour(row[1]);
      pen.fillRect(left, top + inset, Math.max(0.7, w - (w > 3 ? 1 : 0)), h - 2 * inset);
      if (plan && plan[2] !== row[2] && w > 5) corner(left, top + inset, Math.min(8, w, h - 2 * inset));
      hits.push([left, top, w, h, row, "actual"]);
    }
  }

  function corner(left, top, size) {
    pen.fillStyle = css("--paper");
    pen.beginPath(); pen.moveTo(left, top); pen.lineTo(left + size, top); pen.lineTo(left, top + size); pen.fill();
  }

  function running() {
    const { real } = lanes(), now = moment(), inset = laneHeight > 14 ? 4 : 2;
    for (const band of bands) {
      const free = (real.ends.get(band.name) ?? []).slice();
      for (const row of known.open) {
        if (row[2] !== band.name || row[3] !== "running") continue;
        let lane = free.findIndex((stop) => stop <= row[4] + 0.05 * (now - row[4]) + 0.05);
        if (lane < 0) lane = free.length < (band.worker?.threads ?? Infinity) ? free.length : free.indexOf(Math.min(...free));
        free[lane] = Infinity;
        const [left, top, w, h] = box(band, Math.min(lane, band.lanes - 1), row[4], now);
        hatch(left, top + inset, w, h - 2 * inset, colour(row[1]));
        hits.push([left, top, w, h, [row[0], row[1], row[2], row[4], now], "running"]);
      }
    }
  }

  function hatch(left, top, w, h, fill) {
    pen.save();
    pen.beginPath(); pen.rect(left, top, w, h); pen.clip();
    pen.fillStyle = fill; pen.globalAlpha = 0.55;
    pen.fillRect(left, top, w, h);
    pen.globalAlpha = 1; pen.strokeStyle = fill; pen.lineWidth = 2.5;
    const begin = Math.max(left, LEFT);
    for (let at = begin - h - ((begin - left) % 7); at < Math.min(left + w, width); at += 7) {
      pen.beginPath(); pen.moveTo(at, top + h); pen.lineTo(at + h, top); pen.stroke();
    }
    pen.restore();
  }

  // Many threads: how many of a worker's are busy, planned as a line, real as an area.
  function areas() {
    const { plan, real } = lanes(), cells = Math.max(1, Math.floor((width - LEFT - RIGHT) / 2));
    const step = (last() - first()) / cells, now = moment();
    for (const band of bands) {
      const threads = Math.max(band.worker?.threads ?? 1, 1);
      const wanted = busy(plan.packed.get(band.name) ?? [], cells, step);
      const going = known.open.filter((row) => row[2] === band.name && row[3] === "running")
        .map((row) => [[row[0], row[1], row[2], row[4], now], 0]);
      const had = busy([...(real.packed.get(band.name) ?? []), ...going], cells, step);
      const level = (share) => band.bottom - Math.min(1, share / threads) * (laneHeight - 1);
      pen.fillStyle = css("--ink"); pen.globalAlpha = 0.1;
      for (let i = 0; i < cells; i++) pen.fillRect(LEFT + 2 * i, level(wanted.share[i]), 2, band.bottom - level(wanted.share[i]));
      pen.globalAlpha = 1;
      for (let i = 0; i < cells; i++) {
        if (!had.share[i]) continue;
        pen.fillStyle = colour(had.kind[i]);
        pen.fillRect(LEFT + 2 * i, level(had.share[i]), 2, band.bottom - level(had.share[i]));
      }
      pen.strokeStyle = css("--ink"); pen.globalAlpha = 0.6; pen.lineWidth = 1;
      pen.beginPath();
      for (let i = 0; i < cells; i++) {
        const y = Math.round(level(wanted.share[i])) - 0.5;
        pen.lineTo(LEFT + 2 * i, y); pen.lineTo(LEFT + 2 * i + 2, y);
      }
      if (known.planned.length) pen.stroke();
      pen.globalAlpha = 1;
      hits.push([LEFT, band.top, width, laneHeight, band, "area"]);
    }
  }

  function busy(packed, cells, step) {
    const share = new Float64Array(cells), most = new Float64Array(cells), kind = new Array(cells);
    for (const [row] of packed) {
      if (!seen(row)) continue;
      const a = Math.max(0, Math.floor((row[3] - first()) / step)), b = Math.min(cells - 1, Math.floor((row[4] - first()) / step));
      for (let i = a; i <= b; i++) {
        const low = first() + i * step, part = (Math.min(row[4], low + step) - Math.max(row[3], low)) / step;
        share[i] += Math.max(0, part);
        if (part > most[i]) { most[i] = part; kind[i] = row[1]; }
      }
    }
    return { share, kind };
  }

  function marks() {
    const run = known.run, taken = [];
    if (!run.closed) mark(moment(), "now", css("--now"), [], taken);
    if (run.expected_end && !run.closed) mark(run.expected_end, "expected end", css("--accent"), [], taken);
    if (run.predicted) mark(run.predicted, "planned end", css("--soft"), [6, 4], taken);
    if (run.lower_bound) mark(run.lower_bound, "lower bound", css("--good"), [2, 3], taken);
  }

  // A line over all workers; its word stands above, or higher where another one stands already.
  function mark(t, text, stroke, dash, taken) {
    if (t < first() || t > last()) return;
    const px = Math.round(x(t)) + 0.5;
    pen.strokeStyle = pen.fillStyle = stroke; pen.setLineDash(dash); pen.lineWidth = text === "now" ? 2 : 1.5;
    pen.beginPath(); pen.moveTo(px, TOP - 8); pen.lineTo(px, height - AXIS); pen.stroke();
    pen.setLineDash([]);
    pen.font = "600 12px system-ui, sans-serif"; pen.textAlign = "center";
    const half = pen.measureText(text).width / 2 + 5, middle = Math.min(Math.max(px, LEFT + half), width - half);
    const row = [0, 1].find((r) => !taken.some(([a, b, other]) => other === r && middle + half > a && middle - half < b));
    if (row === undefined) return;
    taken.push([middle - half, middle + half, row]);
    pen.fillText(text, middle, TOP - 12 - 15 * row);
  }

  function names() {
    const held = count("held"), sent = count("sent");
    let free = 0;
    for (const band of bands) {
      const middle = (band.top + band.bottom) / 2, tall = band.bottom - band.top >= 28;
      if (middle - 5 < free) continue;
      free = middle + 6;
      pen.textAlign = "left"; pen.fillStyle = band.worker?.running ? css("--ink") : css("--accent");
      pen.font = `600 ${bands.length > 24 ? 11 : 13}px system-ui, sans-serif`;
      pen.fillText(cut(band.name), 12, middle + (tall ? -1 : 4));
      if (!tall) continue;
      pen.fillStyle = css("--soft"); pen.font = "12px system-ui, sans-serif";
      const waits = [[sent.get(band.name), "sent"], [held.get(band.name), "held"]].filter((p) => p[0]);
      const what = !band.worker ? "gone" : !band.worker.running ? band.worker.status
        : waits.map((p) => p.join(" ")).join(", ") || (band.worker.speed && band.worker.speed !== 1 ? `speed ${band.worker.speed}` : band.worker.kind);
      pen.fillText(cut(what), 12, middle + 14);
    }
  }

  function count(state) {
    const counts = new Map();
    for (const row of known.open) if (row[3] === state) counts.set(row[2], (counts.get(row[2]) ?? 0) + 1);
    return counts;
  }

  const cut = (text) => text.length > 22 ? `${text.slice(0, 21)}…` : text;

  // --- legend ----------------------------------------------------------------------------------

  let legendOf = "";

  function legend() {
    const kinds = [...known.kinds.keys()], planned = known.planned.length > 0;
    const key = JSON.stringify([kinds, planned, asAreas, matchMedia("(prefers-color-scheme: dark)").matches]);
    if (key === legendOf) return;
    legendOf = key;
    const entries = kinds.slice(0, palette.length).map((kind) => entry(kindName(kind), (p) => { p.fillStyle = colour(kind); p.fillRect(0, 1, 18, 10); }));
    if (kinds.length > palette.length) entries.push(entry(many(kinds.length - palette.length, "other kind"), (p) => { p.fillStyle = OTHER; p.fillRect(0, 1, 18, 10); }));
    entries.push(element("b"));
    if (asAreas) entries.push(entry("threads busy", (p) => { p.fillStyle = palette[0]; p.fillRect(0, 4, 18, 8); }),
      entry("planned", (p) => { p.strokeStyle = css("--ink"); p.strokeRect(-1, 4.5, 20, 12); }));
    else {
      if (planned) entries.push(entry("planned", (p) => { p.fillStyle = p.strokeStyle = palette[0]; p.globalAlpha = 0.16; p.fillRect(0, 0, 18, 12); p.globalAlpha = 0.75; p.strokeRect(0.5, 0.5, 17, 11); }));
      entries.push(entry("done", (p) => { p.fillStyle = palette[0]; p.fillRect(0, 2, 18, 8); }),
        entry("running", (p) => { p.fillStyle = palette[0]; p.globalAlpha = 0.55; p.fillRect(0, 2, 18, 8); p.globalAlpha = 1; p.strokeStyle = palette[0]; p.lineWidth = 2.5; p.beginPath(); p.rect(0, 2, 18, 8); p.clip(); for (let i = -8; i < 18; i += 7) { p.beginPath(); p.moveTo(i, 10); p.lineTo(i + 8, 2); p.stroke(); } }));
      if (planned) entries.push(entry("not on its planned worker", (p) => { p.fillStyle = palette[0]; p.fillRect(0, 2, 18, 8); p.fillStyle = css("--paper"); p.beginPath(); p.moveTo(0, 2); p.lineTo(8, 2); p.lineTo(0, 10); p.fill(); }));
      entries.push(entry("failed", (p) => { p.fillStyle = css("--accent"); p.fillRect(0, 2, 18, 8); }));
    }
    by("legend").replaceChildren(...entries);
  }

  function entry(text, paint) {
    const made = element("span"), sample = document.createElement("canvas"), p = sample.getContext("2d");
    sample.width = 36; sample.height = 24;
    p.scale(2, 2);
    paint(p);
    made.append(sample, text);
    return made;
  }

  // --- pointing, zooming -------------------------------------------------------------------------

  function story([, , , , row, what]) {
    if (what === "area") return `${row.name}\n${row.worker ? many(row.worker.threads, "thread") : "gone"}`;
    const plan = known.plannedOf.get(row[0]), real = known.actualOf.get(row[0]);
    const line = (r, word) => `${word} ${time(r[3])} to ${time(r[4])} (${time(r[4] - r[3])}) on ${r[2]}`;
    const lines = [row[0], kindName(row[1])].filter((text, i) => !i || text !== row[0]);
    if (plan) lines.push(line(plan, "planned"));
    if (what === "running") lines.push(`running for ${time(row[4] - row[3])} on ${row[2]}`);
    else if (real) lines.push(line(real, real[5] === "failed" ? "failed" : "done"));
    const open = known.open.find((r) => r[0] === row[0]);
    if (what === "planned" && !real && open && open[3] !== "running") lines.push(`${open[3]} now, on ${open[2]}`);
    return lines.join("\n");
  }

  function point(event) {
    const area = canvas.getBoundingClientRect(), px = event.clientX - area.left, py = event.clientY - area.top;
    let found = null;
    if (px > LEFT) for (const hit of hits)
      if (px >= hit[0] - 1 && px <= hit[0] + hit[2] + 1 && py >= hit[1] && py <= hit[1] + hit[3]) found = hit;
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = story(found);
    tip.style.left = `${Math.min(px + 14, width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.max(4, Math.min(py + 14, height - tip.offsetHeight - 8))}px`;
  }

  function view(a, b) {
    const all = end() * 1.03, span = Math.min(Math.max(b - a, all / 5000), all);
    from = Math.max(0, Math.min(a, all - span)); to = from + span;
    if (span >= all * 0.999) from = to = null;
    draw();
  }

  let grabbed = null;
  canvas.addEventListener("wheel", (event) => {
    event.preventDefault();
    const at = timeAt(event.clientX - canvas.getBoundingClientRect().left), factor = Math.exp(event.deltaY * 0.0015);
    view(at - (at - first()) * factor, at + (last() - at) * factor);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => { grabbed = [event.clientX, first(), last()]; canvas.setPointerCapture(event.pointerId); });
  canvas.addEventListener("pointerup", () => { grabbed = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!grabbed) { point(event); return; }
    tip.hidden = true;
    const moved = (grabbed[0] - event.clientX) / (width - LEFT - RIGHT) * (grabbed[2] - grabbed[1]);
    view(grabbed[1] + moved, grabbed[2] + moved);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => { from = to = null; draw(); });
  canvas.addEventListener("keydown", (event) => {
    const step = (last() - first()) / 5;
    const move = { ArrowLeft: [-step, -step], ArrowRight: [step, step], "+": [step, -step], "-": [-step, step] }[event.key];
    if (move) { event.preventDefault(); view(first() + move[0], last() + move[1]); }
    else if (event.key === "Escape") { from = to = null; draw(); }
  });
  by("runs").addEventListener("change", (event) => { chosen = event.target.value; restart(chosen); ask(); });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { draw(); legend(); });
  ask();
})();
