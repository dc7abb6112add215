// Around the bars: moments that matter, and the names of the workers.

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
