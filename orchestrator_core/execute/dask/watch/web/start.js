// Last of all: listen, and begin to ask.

by("runs").addEventListener("change", (event) => { chosen = event.target.value; restart(chosen); ask(); });
window.addEventListener("resize", draw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => { draw(); legend(); });
ask();
