// Lanes: threads of workers, and where they stand.

// Bars that overlap on a worker get different lanes, as few as possible,
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
