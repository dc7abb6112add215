// The chart: what was planned and what happens, bar by bar.

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
    pen.fillText(`${t.toFixed(digits)} s`, px, height - AXIS + 18);
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
