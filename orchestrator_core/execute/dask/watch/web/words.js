// Words and elements.

const time = (s) => s === null || s === undefined ? "–" : Math.abs(s) >= 7200 ? `${(s / 3600).toFixed(2)} h`
  : Math.abs(s) >= 600 ? `${(s / 60).toFixed(1)} min` : Math.abs(s) >= 100 ? `${s.toFixed(1)} s`
  : Math.abs(s) >= 0.1 || s === 0 ? `${s.toFixed(2)} s` : `${(s * 1000).toPrecision(2)} ms`;
const many = (n, noun) => `${n.toLocaleString("en")} ${noun}${n === 1 ? "" : "s"}`;
const kindName = (kind) => {
  const name = kind.split(/[.:/]/).pop() || kind;
  return name.replace(/-[0-9a-f]{8,}$/, "") || name;
};
// The whole kind where another one would read the same.
const apart = (kind, kinds) => kinds.some((other) => other !== kind && kindName(other) === kindName(kind)) ? kind : kindName(kind);

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
