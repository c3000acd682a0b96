// Elements are built from text nodes and attributes only: names come from the program under test.
const NS = "http://www.w3.org/2000/svg";
const data = JSON.parse(document.getElementById("data").textContent);

function fill(node, attributes, children) {
  for (const [name, value] of Object.entries(attributes || {})) {
    if (value === undefined || value === null || value === false) continue;
    if (name.startsWith("on")) node.addEventListener(name.slice(2), value);
    else node.setAttribute(name, value === true ? "" : String(value));
  }
  for (const child of children.flat(3)) {
    if (child === undefined || child === null || child === false) continue;
    node.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
  return node;
}
const h = (tag, attributes, ...children) => fill(document.createElement(tag), attributes, children);
const s = (tag, attributes, ...children) => fill(document.createElementNS(NS, tag), attributes, children);

const cut = (text, most) => (text.length > most ? text.slice(0, Math.max(1, most - 1)) + "…" : text);

// Text is measured, not guessed: system fonts differ. `font` is a weight and a size, mono or not.
const measure = document.createElement("canvas").getContext("2d");
const families = getComputedStyle(document.documentElement);
function widthOf(text, font) {
  const mono = font.endsWith("mono");
  measure.font = font.replace(/ mono$/, "") + " " + families.getPropertyValue(mono ? "--mono" : "--sans");
  return measure.measureText(text).width;
}
function fit(text, pixels, font) {
  if (text.length < 400 && widthOf(text, font) <= pixels) return text;
  let low = 1, high = Math.min(text.length, 400);
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (widthOf(text.slice(0, middle) + "…", font) <= pixels) low = middle; else high = middle - 1;
  }
  return text.slice(0, low) + "…";
}
// The end of a name tells more than its beginning: worker-17.
function fitEnd(text, pixels, font) {
  let from = Math.max(0, text.length - 60);
  while (from < text.length - 1 && widthOf((from ? "…" : "") + text.slice(from), font) > pixels) from++;
  return (from ? "…" : "") + text.slice(from);
}
// Names of threads of a pool differ at the end, and what they are is at the beginning.
function fitMiddle(text, pixels, font) {
  if (text.length < 400 && widthOf(text, font) <= pixels) return text;
  let kept = Math.min(text.length, 120) - 1;
  const cutTo = (n) => text.slice(0, Math.ceil(n / 2)) + "…" + text.slice(text.length - Math.floor(n / 2));
  while (kept > 2 && widthOf(cutTo(kept), font) > pixels) kept--;
  return cutTo(kept);
}
const clamp = (low, value, high) => Math.min(high, Math.max(low, value));
const side = (lane) => (lane === 0 ? "a" : "b");
const STATUS = { confirmed: "Confirmed", predicted: "Predicted, not reached", undecided: "Undecided" };

// Status glyphs differ by shape first.
function statusGlyph(status, size = 12) {
  const svg = s("svg", { width: size, height: size, viewBox: "0 0 12 12", "aria-hidden": "true" });
  if (status === "confirmed") svg.append(s("path", { d: "M6 .5 11.5 6 6 11.5.5 6z", fill: "var(--tear)" }));
  else if (status === "predicted") svg.append(s("path", { d: "M6 1 11 6 6 11 1 6z", fill: "none", stroke: "currentColor", "stroke-width": 1.5, "stroke-dasharray": "2.2 1.6" }));
  else if (status === "undecided") svg.append(s("circle", { cx: 6, cy: 6, r: 4.8, fill: "none", stroke: "currentColor", "stroke-width": 1.4 }), s("path", { d: "M6 1.2a4.8 4.8 0 0 1 0 9.6z", fill: "currentColor" }));
  else svg.append(s("path", { d: "M1 1h10v10H1zM1 7l6-6M1 11 11 1M5 11l6-6", fill: "none", stroke: "currentColor", "stroke-width": 1 }));
  return svg;
}

// The accesses in two lanes: round is a read, square is a write. Of a deadlock, two that wait for each other.
const glyphs = new Map();
const isDeadlock = (story) => story.fault === "deadlock";
function patternGlyph(story) {
  const name = [story.fault, story.pattern, story.status, story.nodes.length > 1].join();
  if (!glyphs.has(name)) glyphs.set(name, isDeadlock(story) ? drawCircle(story.nodes.length > 1) : drawPattern(story.pattern, story.status));
  return glyphs.get(name).cloneNode(true);
}
function drawCircle(closed) {
  const svg = s("svg", { width: 40, height: 46, viewBox: "0 0 40 46", "aria-hidden": "true" });
  const line = { fill: "none", stroke: "var(--tear)", "stroke-width": 1.4 };
  if (closed) svg.append(s("path", { d: "M13 12C22 8 30 12 31 20", ...line }), s("path", { d: "M31.200 24l-3.400-5.500 6.200-.3z", fill: "var(--tear)" }),
    s("path", { d: "M27 34C18 38 10 34 9 26", ...line }), s("path", { d: "M8.800 22l3.400 5.500-6.200.3z", fill: "var(--tear)" }));
  svg.append(s("rect", { x: 2, y: 7, width: 14, height: 14, rx: 3, fill: "var(--a)" }), s("circle", { cx: 31, cy: 32, r: 7.500, fill: "var(--b)" }));
  return svg;
}
function drawPattern(pattern, status) {
  const svg = s("svg", { width: 40, height: 46, viewBox: "0 0 40 46", "aria-hidden": "true" });
  const letters = /^[RW]{3,4}$/.test(pattern) ? pattern : "···";
  const at = letters.length === 4 ? [[9, 8], [31, 15], [31, 31], [9, 38]] : [[9, 10], [31, 23], [9, 36]];
  const dash = status === "confirmed" ? undefined : "2.5 2";
  svg.append(s("path", { d: "M" + at.map((p) => p.join(" ")).join("L"), fill: "none", stroke: "var(--tear)", "stroke-width": 1.4, "stroke-dasharray": dash }));
  at.forEach(([x, y], i) => {
    const write = letters[i] === "W", color = x > 20 ? "b" : "a";
    svg.append(write
      ? s("rect", { x: x - 7, y: y - 7, width: 14, height: 14, rx: 3, fill: `var(--${color})` })
      : s("circle", { cx: x, cy: y, r: 7, fill: `var(--${color}-tint)`, stroke: `var(--${color})`, "stroke-width": 1.5 }));
    svg.append(s("text", { x, y: y + 3, "text-anchor": "middle", "font-size": 8.5, "font-weight": 700, "font-family": "var(--sans)", fill: write ? `var(--${color}-on)` : `var(--${color})` }, letters[i]));
  });
  return svg;
}

function icon(name) {
  const paths = {
    theme: "M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 1 0 0-13zM8 3.200a4.800 4.800 0 0 1 0 9.600z",
    keys: "M1.5 4h13v8h-13zM4 9.5h8M4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01",
    first: "M4 3v10M13 3 6 8l7 5z", previous: "M11 3 4 8l7 5z", next: "M5 3l7 5-7 5z", last: "M12 3v10M3 3l7 5-7 5z",
  };
  const solid = name !== "keys";
  return s("svg", { width: 16, height: 16, viewBox: "0 0 16 16", "aria-hidden": "true" },
    s("path", { d: paths[name], fill: solid ? "currentColor" : "none", stroke: "currentColor", "stroke-width": name === "theme" ? 1.3 : 1.4, "stroke-linejoin": "round", "stroke-linecap": "round", "fill-rule": "evenodd" }));
}

function logo() {
  return s("svg", { width: 18, height: 22, viewBox: "0 0 18 22", "aria-hidden": "true" },
    s("path", { d: "M2 1h14v10l-3.5-3L9 11 5.500 8 2 11z", fill: "var(--a)" }),
    s("path", { d: "M2 14l3.500-3L9 14l3.500-3L16 14v7H2z", fill: "var(--a)", opacity: .6 }));
}

// What is remembered stays on this machine; a browser may refuse even that.
const memory = {
  get(name) { try { return localStorage.getItem("untorn-" + name); } catch { return null; } },
  set(name, value) { try { localStorage.setItem("untorn-" + name, value); } catch { /* not kept */ } },
};

const system = matchMedia("(prefers-color-scheme: dark)");
function applyTheme(forced) {
  const chosen = forced || memory.get("theme") || (system.matches ? "dark" : "light");
  document.documentElement.dataset.theme = chosen === "dark" ? "dark" : "light";
}
function toggleTheme() {
  const next = document.documentElement.dataset.theme === "dark" ? "light" : "dark";
  memory.set("theme", next);
  applyTheme(next);
}
