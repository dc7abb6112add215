// The chart of many threads: how many of a worker's are busy.

// Planned as a line, real as an area.
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
