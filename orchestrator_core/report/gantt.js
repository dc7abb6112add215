"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const canvas = document.getElementById("gantt"), tip = document.getElementById("tip");
  const pen = canvas.getContext("2d");
  const MOST_ROOMY = 24;                       // more workers than these stand closer together
  const dense = data.workers.length > MOST_ROOMY;
  const [PLAN, ACTUAL, MOVE, GAP] = dense ? [5, 10, 4, 4] : [9, 16, 5, 12];
  const FADED = 0.45;                          // of planned bars above actual ones
  const tall = data.workers.length > 14;        // times above the bars too
  const TOP = tall ? 58 : 42, AXIS = 30, RIGHT = 12;
  const palette = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e0ac2b", "#2a9d8f", "#9d755d",
    "#d67195", "#8c8c8c", "#6f9ceb", "#b5651d", "#5b8c5a"];
  const colour = (kind) => kind < palette.length ? palette[kind] : `hsl(${(kind * 137.5) % 360} 45% 52%)`;
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

  // Each worker is a band: planned rows, actual rows, then a thin lane of transfers.
  const bands = data.workers.map(() => ({ plan: 0, actual: 0 }));
  for (const bar of data.planned) bands[bar[2]].plan = Math.max(bands[bar[2]].plan, bar[3] + 1);
  for (const bar of data.actual) bands[bar[2]].actual = Math.max(bands[bar[2]].actual, bar[3] + 1);
  const moving = data.plannedTransfers.length + data.actualTransfers.length > 0;
  const planLane = data.planned.length > 0, actualLane = data.actual.length > 0;
  let y = TOP;
  for (const band of bands) {
    band.top = y;
    band.planTop = y;
    y += (planLane ? Math.max(1, band.plan) : 0) * PLAN;
    band.actualTop = y + (planLane && actualLane ? 2 : 0);
    y = band.actualTop + (actualLane ? Math.max(1, band.actual) : 0) * ACTUAL;
    if (!actualLane) y += ACTUAL - PLAN;
    band.moveTop = y + 2;
    y = band.moveTop + (moving ? MOVE : 0);
    band.bottom = y;
    y += GAP;
  }
  const height = y + AXIS;
  const planRow = actualLane ? PLAN : ACTUAL;

  const ends = [...data.planned, ...data.actual].map((bar) => bar[5]);
  const last = ends.reduce((a, b) => Math.max(a, b), 0) || 1;
  let from = 0, to = last * 1.02;
  let width = 0, hits = [], LEFT = 132;

  const x = (t) => LEFT + (t - from) / (to - from) * (width - LEFT - RIGHT);
  const time = (px) => from + (px - LEFT) / (width - LEFT - RIGHT) * (to - from);
  const show = (s) => s >= 7200 ? `${(s / 3600).toFixed(2)} h` : s >= 600 ? `${(s / 60).toFixed(1)} min`
    : s >= 100 ? `${s.toFixed(1)} s` : s >= 0.1 || s === 0 ? `${s.toFixed(2)} s` : `${(s * 1000).toPrecision(2)} ms`;

  const PLAIN = "12px system-ui, sans-serif", STRONG = `600 ${dense ? 11 : 13}px system-ui, sans-serif`;

  function step(span) {
    const rough = span / 8, power = 10 ** Math.floor(Math.log10(rough));
    return [1, 2, 5, 10].map((m) => m * power).find((s) => s >= rough);
  }

  function axis() {
    // In the unit in which all else is said of so long a time.
    const span = to - from, [unit, word] = span >= 7200 ? [3600, "h"] : span >= 600 ? [60, "min"] : [1, "s"];
    const part = step(span / unit), size = part * unit, digits = Math.max(0, Math.ceil(-Math.log10(part)));
    pen.strokeStyle = css("--line"); pen.fillStyle = css("--soft"); pen.textAlign = "center";
    pen.font = PLAIN; pen.lineWidth = 1;
    for (let t = Math.max(0, Math.ceil(from / size) * size); t <= to; t += size) {
      const px = Math.round(x(t)) + 0.5, text = `${(t / unit).toFixed(digits)} ${word}`;
      pen.beginPath(); pen.moveTo(px, TOP - 4); pen.lineTo(px, height - AXIS); pen.stroke();
      pen.fillText(text, px, height - AXIS + 18);
      if (tall) pen.fillText(text, px, TOP - 8);
    }
  }

  // A line over all workers; its word stands above, or higher where another one stands already.
  function marker(t, text, stroke, dash, taken) {
    if (t === null || t < from || t > to) return;
    const px = Math.round(x(t)) + 0.5;
    pen.strokeStyle = pen.fillStyle = stroke; pen.setLineDash(dash); pen.lineWidth = 1.5;
    pen.beginPath(); pen.moveTo(px, TOP - 8); pen.lineTo(px, height - AXIS); pen.stroke();
    pen.setLineDash([]);
    pen.font = "600 12px system-ui, sans-serif"; pen.textAlign = "center";
    const half = pen.measureText(text).width / 2 + 5, middle = Math.min(Math.max(px, LEFT + half), width - half);
    const row = [0, 1].find((r) => !taken.some(([a, b, other]) => other === r && middle + half > a && middle - half < b));
    taken.push([middle - half, middle + half, row]);
    const base = TOP - (tall ? 26 : 12) - 14 * row;
    pen.fillStyle = css("--paper"); pen.fillRect(middle - half, base - 11, 2 * half, 14);
    pen.fillStyle = stroke; pen.fillText(text, middle, base);
  }

  function bars(rows, planned) {
    const size = planned ? planRow : ACTUAL;
    for (const bar of rows) {
      const [, kind, worker, row, start, end, critical] = bar;
      if (end < from || start > to) continue;
      const band = bands[worker], left = Math.max(x(start), LEFT);
      const top = (planned ? band.planTop : band.actualTop) + row * size;
      const w = Math.max(0.75, Math.min(x(end), width) - left - (x(end) - left > 3 ? 1 : 0));
      pen.globalAlpha = planned && actualLane ? FADED : 1;
      pen.fillStyle = colour(kind);
      pen.fillRect(left, top, w, size - 1.5);
      pen.globalAlpha = 1;
      if (critical && !(planned && actualLane) && w > 2) {
        pen.strokeStyle = css("--accent"); pen.lineWidth = 2;
        pen.strokeRect(left + 1, top + 1, w - 2, size - 3.5);
      }
      if (w > 1.5 || hits.length < 20000) hits.push([left, top, w, size, bar, planned]);
    }
  }

  function transfers(rows, alpha) {
    pen.fillStyle = css("--soft"); pen.globalAlpha = alpha;
    for (const [, worker, start, end] of rows) {
      if (end < from || start > to) continue;
      const left = Math.max(x(start), LEFT);
      pen.fillRect(left, bands[worker].moveTop, Math.max(0.75, Math.min(x(end), width) - left), MOVE - 1);
    }
    pen.globalAlpha = 1;
  }

  function names() {
    pen.fillStyle = css("--paper"); pen.fillRect(0, TOP - 4, LEFT - 2, height - AXIS - TOP + 6);
    pen.textAlign = "left";
    bands.forEach((band, i) => {
      const [name, kind] = data.workers[i], middle = (band.top + band.bottom) / 2;
      const two = kind && kind !== name && band.bottom - band.top > 24;
      pen.fillStyle = css("--ink"); pen.font = STRONG;
      pen.fillText(cut(name), 12, middle + (two ? -2 : 4));
      pen.fillStyle = css("--soft"); pen.font = PLAIN;
      if (two) pen.fillText(cut(kind), 12, middle + 13);
    });
  }

  // The text, or what of its beginning has room beside the bars.
  function cut(text) {
    const room = LEFT - 20;
    if (pen.measureText(text).width <= room) return text;
    let short = text.slice(0, 80);
    while (short && pen.measureText(`${short}…`).width > room) short = short.slice(0, -1);
    return `${short}…`;
  }

  function margin() {
    pen.font = STRONG;
    const widest = data.workers.reduce((most, [name]) => Math.max(most, pen.measureText(name).width), 60);
    return Math.min(Math.max(90, 24 + widest), 230, width / 4);
  }

  function draw() {
    const scale = window.devicePixelRatio || 1;
    width = canvas.parentElement.clientWidth;
    canvas.width = width * scale; canvas.height = height * scale; canvas.style.height = `${height}px`;
    pen.setTransform(scale, 0, 0, scale, 0, 0);
    LEFT = Math.round(margin());
    pen.clearRect(0, 0, width, height);
    hits = [];
    axis();
    bars(data.planned, true);
    bars(data.actual, false);
    transfers(data.plannedTransfers, actualLane ? 0.35 : 0.8);
    transfers(data.actualTransfers, 0.8);
    const taken = [];
    marker(data.predicted, "predicted", css("--soft"), [6, 4], taken);
    marker(data.bound, "no plan can beat", css("--good"), [2, 3], taken);
    names();
  }

  function story(bar, planned) {
    const [task, kind, worker, , start, end] = bar;
    const other = (planned ? data.actual : data.planned).find((b) => b[0] === task);
    const line = (b, what) => `${what} ${show(b[4])} to ${show(b[5])} (${show(b[5] - b[4])}) on ${data.workers[b[2]][0]}`;
    const lines = [data.tasks[task], data.kinds[kind]];
    lines.push(line([0, 0, worker, 0, start, end], planned ? "planned" : "actual"));
    if (other) lines.push(line(other, planned ? "actual" : "planned"));
    if (bar[6]) lines.push("on the critical path");
    return lines.filter((l, i) => i !== 1 || l !== lines[0]).join("\n");
  }

  function point(event) {
    const box = canvas.getBoundingClientRect(), px = event.clientX - box.left, py = event.clientY - box.top;
    let found = null;
    if (px > LEFT) for (const hit of hits) {
      if (px >= hit[0] - 1 && px <= hit[0] + hit[2] + 1 && py >= hit[1] && py <= hit[1] + hit[3]) found = hit;
    }
    tip.hidden = !found;
    if (!found) return;
    tip.textContent = story(found[4], found[5]);
    tip.style.left = `${Math.min(px + 14, width - tip.offsetWidth - 8)}px`;
    tip.style.top = `${Math.max(4, Math.min(py + 14, height - tip.offsetHeight - 8))}px`;
  }

  function move(a, b) {
    const span = Math.min(Math.max(b - a, last / 5000), last * 1.02);
    from = Math.max(0, Math.min(a, last * 1.02 - span)); to = from + span;
    draw();
  }

  let grabbed = null;
  canvas.addEventListener("wheel", (event) => {
    // Whoever reads on below a chart that fills the window must get past it.
    if (height > window.innerHeight && !event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const at = time(event.clientX - canvas.getBoundingClientRect().left);
    const factor = Math.exp(event.deltaY * 0.0015);
    move(at - (at - from) * factor, at + (to - at) * factor);
  }, { passive: false });
  canvas.addEventListener("pointerdown", (event) => {
    grabbed = [event.clientX, from, to]; canvas.setPointerCapture(event.pointerId);
  });
  for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { grabbed = null; });
  canvas.addEventListener("pointermove", (event) => {
    if (!grabbed) return point(event);
    const shift = (grabbed[0] - event.clientX) / (width - LEFT - RIGHT) * (grabbed[2] - grabbed[1]);
    move(grabbed[1] + shift, grabbed[2] + shift);
  });
  canvas.addEventListener("pointerleave", () => { tip.hidden = true; });
  canvas.addEventListener("dblclick", () => move(0, last * 1.02));
  canvas.addEventListener("keydown", (event) => {
    const span = to - from, keys = { ArrowLeft: [-0.1, -0.1], ArrowRight: [0.1, 0.1], "+": [0.1, -0.1], "-": [-0.12, 0.12] };
    const change = keys[event.key];
    if (change) { event.preventDefault(); move(from + span * change[0], to + span * change[1]); }
  });
  window.addEventListener("resize", draw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);

  const legend = document.getElementById("legend");
  const entry = (text, background, border, faded) => {
    const item = document.createElement("span"), box = document.createElement("i"), name = document.createElement("bdi");
    name.textContent = item.title = text;
    box.style.background = background;
    if (border) box.style.border = border;
    if (faded) { box.style.opacity = FADED; box.style.height = "7px"; }
    item.append(box, name); legend.append(item);
  };
  data.kinds.slice(0, 12).forEach((kind, i) => entry(kind, colour(i)));
  if (data.kinds.length > 12) entry(`${data.kinds.length - 12} more kinds`, "transparent", "1px solid var(--line)");
  legend.append(document.createElement("b"));
  if (planLane && actualLane) { entry("planned", colour(0), "", true); entry("actual", colour(0)); }
  entry("critical path", "transparent", "2px solid var(--accent)");
  if (moving) entry("transfer", "var(--soft)");
  draw();
  document.body.dataset.drawn = String(hits.length);
})();
