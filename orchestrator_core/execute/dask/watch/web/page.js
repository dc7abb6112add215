// The page: what all its parts share. They are one script, in the order that `page.py` names.

const by = (id) => document.getElementById(id);
const canvas = by("gantt"), tip = by("tip"), pen = canvas.getContext("2d");
const EVERY = 1000, AT_ONCE = 20;            // ms between two questions; while rows are missing
const TOP = 40, AXIS = 28, RIGHT = 14;       // px around the bars
const MOST_LANES = 96;                       // more threads than these: a worker is one area
const palette = ["#4c78a8", "#f58518", "#54a24b", "#b279a2", "#e0ac2b", "#2a9d8f", "#9d755d",
  "#d67195", "#6f9ceb", "#b5651d"];
const OTHER = "#8c8c8c";
const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
