// The legend under the figures.

let legendOf = "";

function legend() {
  const kinds = [...known.kinds.keys()], planned = known.planned.length > 0;
  const key = JSON.stringify([kinds, planned, asAreas, matchMedia("(prefers-color-scheme: dark)").matches]);
  if (key === legendOf) return;
  legendOf = key;
  const entries = kinds.slice(0, palette.length).map((kind) => entry(apart(kind, kinds), (p) => { p.fillStyle = colour(kind); p.fillRect(0, 1, 18, 10); }));
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
  const made = element("span"), name = element("bdi", "", text), sample = document.createElement("canvas"), p = sample.getContext("2d");
  sample.width = 36; sample.height = 24;
  p.scale(2, 2);
  paint(p);
  made.title = text;
  made.append(sample, name);
  return made;
}
