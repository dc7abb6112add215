// Pointing at bars, zooming, moving.

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
