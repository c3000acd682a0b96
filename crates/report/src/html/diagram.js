// The interleaving: torn thread left, shared memory, the others right. Drawn at real pixel size.
const HEIGHTS = { begin: 38, read: 41, write: 41, other: 41, gap: 32, switch: 30, end: 24, effect: 44 };
const MONO = "var(--mono)";

// Everything that is placed before anything is drawn.
function layout(story, W, opened) {
  const narrow = W < 400;
  const shown = tracksOf(story);
  const gutter = narrow ? 24 : 28, track = narrow ? 58 : 62;
  const mem = track * Math.max(1, shown.length);
  const lanes = Math.max(2, story.lanes.length);
  const lane = Math.max(lanes > 2 ? 140 : 96, (W - gutter - mem) / lanes);
  const ph = narrow ? 30 : 34;
  const arr = narrow ? 18 : clamp(22, 0.17 * lane, 40);
  const g = { narrow, gutter, track, mem, lane, ph, arr, shown, width: Math.round(gutter + mem + lane * lanes), rows: [] };
  g.life = (i) => (i === 0 ? gutter + lane - arr - ph : gutter + lane + mem + (i - 1) * lane + arr + ph);
  g.inner = (i) => (i === 0 ? g.life(0) + ph : g.life(i) - ph);
  g.box = (i) => (i === 0 ? [gutter + 4, g.life(0) + ph + 7] : [g.life(i) - ph - 7, gutter + lane + mem + i * lane - 4]);
  g.trackX = (t) => gutter + lane + t * track + 4;
  let y = 50;
  story.rows.forEach((row, i) => {
    const height = (HEIGHTS[row.kind] || 41) + (opened.has(i) ? 30 : 0);
    g.rows.push({ y: y + (HEIGHTS[row.kind] || 41) / 2, top: y, bottom: y + height });
    y += height;
  });
  g.height = y + 8;
  g.end = story.rows.findIndex((row) => row.kind === "effect");
  g.floor = g.end < 0 ? y : g.rows[g.end].top;
  return g;
}

// At most three variables get a track, those of the key accesses first.
function tracksOf(story) {
  const key = story.rows.filter((row) => row.key && row.variable !== undefined).map((row) => row.variable);
  const all = [...new Set([...key, ...story.variables.keys()])];
  return all.slice(0, 3).sort((a, b) => a - b);
}

function zigzag(x1, x2, y, close) {
  const teeth = Math.max(2, Math.round((x2 - x1) / 9)), step = (x2 - x1) / teeth;
  let d = "";
  for (let i = 0; i <= teeth; i++) {
    const n = close ? teeth - i : i;
    d += ` L${(x1 + n * step).toFixed(1)} ${(y + (n % 2 ? 4 : -3)).toFixed(1)}`;
  }
  return d;
}

function drawBoxes(story, g) {
  const out = [];
  const dashed = story.status === "confirmed" ? undefined : "4 3";
  story.nodes.forEach((node, n) => {
    const own = story.rows.map((row, i) => i).filter((i) => story.rows[i].node === n);
    const begin = own.find((i) => story.rows[i].kind === "begin");
    if (begin === undefined) return;
    const end = own.findLast((i) => story.rows[i].kind === "end");
    const [x1, x2] = g.box(node.lane), c = side(node.lane);
    const top = g.rows[begin].top + 3;
    const stuck = isDeadlock(story);
    const bottom = stuck ? g.floor - 2 : end === undefined ? g.rows[own.at(-1)].bottom : g.rows[end].bottom + 2;
    const rips = n === 0 ? story.rips : [];
    let y = top;
    const edges = [];
    for (const rip of rips) {
      edges.push([y, g.rows[rip.from].y - 9, y !== top, true]);
      out.push(...ghost(x1, x2, g.rows[rip.from].y - 9, g.rows[rip.to].y + 10));
      y = g.rows[rip.to].y + 10;
    }
    edges.push([y, bottom, y !== top, false]);
    for (const [from, to, tornTop, tornBottom] of edges) {
      const r = 5;
      let d = tornTop ? "M" + zigzag(x1, x2, from, false).slice(2) : `M${x1} ${from + r} Q${x1} ${from} ${x1 + r} ${from} H${x2 - r} Q${x2} ${from} ${x2} ${from + r}`;
      if (stuck) d += ` V${to} M${x1} ${to} V${from + r}`;
      else d += tornBottom ? zigzag(x1, x2, to, true) : ` V${to - r} Q${x2} ${to} ${x2 - r} ${to} H${x1 + r} Q${x1} ${to} ${x1} ${to - r}`;
      if (stuck) out.push(s("rect", { x: x1, y: from, width: x2 - x1, height: to - from, rx: r, fill: `var(--${c}-tint)` }), s("path", { d, fill: "none", stroke: `var(--${c})`, "stroke-width": 1.2 }));
      else out.push(s("path", { d: d + " Z", fill: `var(--${c}-tint)`, stroke: `var(--${c})`, "stroke-width": 1.2, "stroke-dasharray": dashed }));
      for (const [torn, at] of [[tornTop, from], [tornBottom, to]])
        if (torn) out.push(s("path", { d: "M" + zigzag(x1, x2, at, false).slice(2), fill: "none", stroke: "var(--tear)", "stroke-width": 2 }));
    }
  });
  return out;
}

function ghost(x1, x2, from, to) {
  const line = (x) => s("path", { d: `M${x} ${from + 4}V${to - 4}`, stroke: "var(--tear)", "stroke-width": 1.5, "stroke-dasharray": "3 4" });
  return [line(x1), line(x2)];
}

function drawLives(story, g) {
  const out = [];
  story.lanes.forEach((_, i) => out.push(s("path", { d: `M${g.life(i)} 38V${g.floor}`, stroke: "var(--line2)", "stroke-width": 1.2, "stroke-dasharray": "2 3" })));
  return out;
}

function drawRunning(story, g) {
  const out = [];
  let lane = null, from = 0, to = 0;
  const flush = () => { if (lane !== null) out.push(s("path", { d: `M${g.life(lane)} ${from}V${to}`, stroke: `var(--${side(lane)})`, "stroke-width": 2.5, "stroke-dasharray": story.status === "confirmed" ? undefined : "5 3" })); };
  story.rows.forEach((row, i) => {
    const at = g.rows[i];
    if (row.kind === "effect") return;
    if (row.kind === "switch") { to = at.y; flush(); lane = row.lane; from = at.y; to = at.y; return; }
    // A line through the name of the block would cross it out.
    if (row.kind === "begin" && lane !== row.lane) { lane = row.lane; from = at.y + 8; }
    else if (lane === null) { lane = row.lane; from = at.y - 8; }
    else if (row.kind === "begin") { to = at.top + 4; flush(); from = at.y + 8; }
    to = row.kind === "end" ? at.y : at.bottom;
  });
  flush();
  return out;
}

function drawMemory(story, g, marks) {
  const out = [];
  g.shown.forEach((variable, t) => {
    const x = g.trackX(t), w = g.track - 8;
    let from = 54, value = story.variables[variable].before, writer = null, lost = false;
    const close = (to) => {
      if (to - from < 8 || (value === null && isDeadlock(story))) return;
      out.push(s("rect", { x, y: from, width: w, height: to - from, rx: 4, fill: "var(--surface)", stroke: "var(--line2)" }));
      if (writer !== null) out.push(s("rect", { x: writer === 0 ? x : x + w - 4, y: from, width: 4, height: to - from, fill: `var(--${side(writer)})` }));
      const text = value ?? "?";
      out.push(s("text", { x: x + w / 2, y: from + 18, "text-anchor": "middle", "font-family": MONO, "font-size": text.length > 4 || isDeadlock(story) ? 12 : 14, "font-weight": 600, fill: "var(--ink)" }, isDeadlock(story) ? fitEnd(text, w - 12, "600 12px mono") : cut(text, 6), s("title", {}, text)));
      if (lost && to - from > 30) marks.lost.push(s("text", { x: x + w / 2, y: to - 6, stroke: "var(--surface)", "stroke-width": 4, "paint-order": "stroke", "text-anchor": "middle", "font-size": 11.5, "font-weight": 700, fill: "var(--tear)" }, "lost"));
    };
    story.rows.forEach((row, i) => {
      if ((row.kind !== "write" && row.kind !== "acquire") || row.variable !== variable) return;
      close(g.rows[i].y - 12);
      from = g.rows[i].y - 10; value = row.value; writer = row.lane; lost = row.lost;
    });
    close(g.floor - 4);
  });
  story.rows.forEach((row, i) => {
    const t = g.shown.indexOf(row.variable);
    if (t < 0 || !["read", "write", "acquire", "request"].includes(row.kind)) return;
    const y = g.rows[i].y, edge = row.lane === 0 ? g.trackX(t) : g.trackX(t) + g.track - 8;
    const [x1, x2] = row.kind === "read" ? [edge, g.inner(row.lane)] : [g.inner(row.lane), edge];
    const d = x2 > x1 ? -1 : 1;
    if (row.kind === "request") marks.arrows.push(s("path", { d: `M${x1} ${y}H${x2 + d * 7}`, stroke: "var(--ink2)", "stroke-width": 1.1, "stroke-dasharray": "3 2" }), s("path", { d: `M${x2 + d * 5} ${y - 7}v14`, stroke: "var(--tear)", "stroke-width": 2.5 }));
    else marks.arrows.push(s("path", { d: `M${x1} ${y}H${x2 + d * 3}`, stroke: "var(--ink2)", "stroke-width": 1.1 }),
      s("path", { d: `M${x2} ${y}l${d * 6}-3v6z`, fill: "var(--ink2)" }));
  });
  return out;
}

function drawSwitches(story, g) {
  const out = [];
  let last = story.rows[0] ? story.rows[0].lane : 0;
  story.rows.forEach((row, i) => {
    if (row.kind === "switch") {
      const y = g.rows[i].y, x1 = g.life(last), x2 = g.life(row.lane), d = x2 > x1 ? -1 : 1;
      out.push(s("path", { d: `M${x1} ${y}H${x2 + d * 5}`, stroke: "var(--ctl)", "stroke-width": 1.1, "stroke-dasharray": "4 3", fill: "none" }),
        s("path", { d: `M${x2 + d * 2} ${y}l${d * 6}-3v6z`, fill: "var(--ctl)" }));
      if (!g.narrow) {
        const left = row.lane === 0;
        const room = (left ? x2 - g.box(0)[0] - 14 : g.box(row.lane)[1] - x2 - 12) - (isDeadlock(story) ? 10 : 0);
        out.push(s("text", { x: left ? x2 - 7 : x2 + 8, y: y - 4, "text-anchor": left ? "end" : "start", "font-size": 11, fill: "var(--ink3)" }, fitMiddle(widthOf(row.label, "400 11px") > room ? row.label.replace("switch to ", "to ") : row.label, room, "400 11px")));
      }
    }
    if (row.kind !== "effect") last = row.lane;
  });
  return out;
}

function drawCurves(story, g) {
  const under = [], over = [];
  const dash = story.status === "confirmed" ? undefined : "5 4";
  for (const link of story.links) {
    if (!link.rows) continue;
    const [i, j] = link.rows, from = story.rows[i], to = story.rows[j];
    const down = j > i ? 7 : -7;
    const x1 = g.inner(from.lane), x2 = g.inner(to.lane), y1 = g.rows[i].y + down, y2 = g.rows[j].y - down;
    const d1 = from.lane === 0 ? 1 : -1, d2 = to.lane === 0 ? 1 : -1;
    const bow = Math.max(26, Math.abs(x2 - x1) * 0.5);
    const end = x2 + d2 * 5;
    const d = `M${x1} ${y1}C${x1 + d1 * bow} ${y1 + 2} ${end + d2 * bow} ${y2 - 2} ${end} ${y2}`;
    under.push(s("path", { d, fill: "none", stroke: "var(--surface)", "stroke-width": 6 }));
    over.push(s("path", { d, fill: "none", stroke: "var(--tear)", "stroke-width": 1.9, "stroke-dasharray": dash }),
      s("path", { d: `M${x2} ${y2}l${d2 * 8}-4v8z`, fill: "var(--tear)" }));
  }
  return [...under, ...over];
}

function drawPill(story, g, row, at) {
  const out = [], c = side(row.lane), x = g.life(row.lane), y = at.y;
  const tall = row.key ? 26 : 21, dash = story.status === "confirmed" ? undefined : "4 3";
  const write = row.kind === "write" || row.kind === "acquire";
  const waits = row.kind === "request";
  const word = row.kind === "acquire" ? "takes" : waits ? "waits" : row.kind === "other" ? fit(row.label.split(" ")[0], g.ph * 2 - 6, "600 11.5px mono") : `${write ? "W" : "R"} ${row.value === undefined ? "?" : cut(row.value, 6)}`;
  const filled = write && story.status === "confirmed";
  out.push(s("rect", { x: x - g.ph, y: y - tall / 2, width: g.ph * 2, height: tall, rx: row.kind === "read" || waits ? tall / 2 : 3, fill: filled ? `var(--${c})` : "var(--surface)", stroke: `var(--${c})`, "stroke-width": row.key ? 2 : 1.2, "stroke-dasharray": waits ? "4 3" : dash }));
  out.push(s("text", { x, y: y + 4.5, "text-anchor": "middle", "font-family": MONO, "font-size": word.length > 7 || g.narrow ? 11.5 : 12.5, "font-weight": 600, fill: filled ? `var(--${c}-on)` : "var(--ink)" }, word));
  out.push(...drawAside(g, row, at));
  return out;
}

// Line, and the lock that is held, on the outer side of the pill.
function drawAside(g, row, at) {
  const out = [], left = row.lane === 0, x = g.life(row.lane), y = at.y;
  const lock = row.kind === "acquire" || row.kind === "request";
  const locked = !lock && (row.locks || []).length > 0;
  const edge = left ? x - g.ph - 8 : x + g.ph + 8;
  if (locked) {
    const bx = left ? edge - 6 : edge;
    out.push(s("rect", { x: bx, y: y - 13, width: 6, height: 26, rx: 1.5, fill: "url(#hatch)", stroke: "var(--ink2)", "stroke-width": .8 }));
  }
  const tx = edge + (left ? -1 : 1) * (locked ? 10 : 0);
  // The bar of a lock that is held for ever stands at the edge.
  const [x1, x2] = g.box(row.lane), room = (left ? tx - x1 - 4 : x2 - tx - 4) - (lock ? 10 : 0);
  const line = (row.place || "").match(/:(\d+)$/);
  const long = !g.narrow && line && widthOf(`line ${line[1]}`, "400 11.5px") <= room;
  const where = line ? (long ? "line " : "L") + line[1] : row.place || "";
  const second = lock ? row.label : row.kind === "other" ? row.label.split(" ").slice(1).join(" ") : locked && !g.narrow ? row.locks.at(-1).split("#")[0].split(".").at(-1) : "";
  const text = (words, dy) => s("text", { x: tx, y: y + dy, "text-anchor": left ? "end" : "start", "font-size": 11.5, fill: "var(--ink2)" }, fit(words, room, "400 11.5px"), s("title", {}, words));
  if (where) out.push(text(where, second ? -2 : 4));
  if (second) out.push(text(second, where ? 11 : 4));
  return out;
}

// Locks that are never given back: a bar at the edge of the block, from the acquire to the end.
function drawHeld(story, g) {
  if (!isDeadlock(story)) return [];
  const count = new Map(), out = [];
  story.rows.forEach((row, i) => {
    if (row.kind !== "acquire") return;
    const n = count.get(row.lane) || 0, [x1, x2] = g.box(row.lane);
    count.set(row.lane, n + 1);
    if (n < 3) out.push(s("rect", { x: row.lane === 0 ? x1 + 4 + n * 9 : x2 - 10 - n * 9, y: g.rows[i].y - 13, width: 6, height: g.floor - g.rows[i].y + 9, rx: 1.5, fill: "url(#hatch)", stroke: "var(--ink2)", "stroke-width": .8 }, s("title", {}, `holds ${row.label}`)));
  });
  return out;
}

function drawRow(story, g, row, i, opened) {
  const at = g.rows[i], x = g.life(row.lane), c = side(row.lane);
  if (row.kind === "begin") {
    const [x1, x2] = g.box(row.lane);
    return [s("text", { x: x1 + 9, y: at.y + 2, "font-family": MONO, "font-size": 12.5, "font-weight": 600, fill: "var(--ink)" }, fit(row.label, x2 - x1 - 14, "600 12.5px mono"), s("title", {}, row.label))];
  }
  if (row.kind === "end") return [s("circle", { cx: x, cy: at.y, r: 4.2, fill: "var(--surface)", stroke: `var(--${c})`, "stroke-width": 2 })];
  if (row.kind === "gap") return drawGap(g, row, at, opened.has(i));
  if (row.kind === "effect") {
    const words = fit(row.text, g.width - g.gutter - 48, "650 12.5px");
    return [s("rect", { x: g.gutter + 4, y: at.y - 16, width: g.width - g.gutter - 8, height: 32, rx: 5, fill: "var(--tear-tint)", stroke: "var(--tear)" }),
      s("path", { d: `M${g.gutter + 16} ${at.y - 4}l8 8m0-8-8 8`, stroke: "var(--tear)", "stroke-width": 2, "stroke-linecap": "round" }),
      s("text", { x: g.gutter + 34, y: at.y + 4.5, "font-size": 12.5, "font-weight": 650, fill: "var(--ink)" }, words, s("title", {}, row.text))];
  }
  return row.kind === "switch" ? [] : drawPill(story, g, row, at);
}

function drawGap(g, row, at, open) {
  const [x1, x2] = g.box(row.lane), w = Math.min(x2 - x1 - 8, widthOf(row.label, "400 11.5px") + 18);
  const x = clamp(x1 + 4 + w / 2, g.life(row.lane), x2 - 4 - w / 2);
  const out = [s("rect", { x: x - w / 2, y: at.y - 10, width: w, height: 20, rx: 10, fill: "var(--surface)", stroke: "var(--ctl)", "stroke-dasharray": "2.500 2.500" }),
    s("text", { x, y: at.y + 4, "text-anchor": "middle", "font-size": 11.5, fill: "var(--ink2)" }, row.label)];
  if (open) row.text.match(/.{1,24}(\s|$)/g).slice(0, 2).forEach((words, n) => out.push(s("text", { x: (x1 + x2) / 2, y: at.y + 25 + n * 13, "text-anchor": "middle", "font-size": 11, fill: "var(--ink2)" }, words.trim())));
  return out;
}

function drawRips(story, g) {
  const out = [];
  for (const rip of story.rips) {
    const [x1, x2] = g.box(0), y = g.rows[rip.row].y, middle = (x1 + x2) / 2;
    const wide = widthOf(rip.belief, "700 12px") > x2 - x1 - 12;
    const parts = wide ? rip.belief.match(/^(\S+ \S+) (.*)$/)?.slice(1) || [rip.belief] : [rip.belief];
    out.push(s("rect", { x: x1 + 4, y: y - 7 - parts.length * 8, width: x2 - x1 - 8, height: 12 + parts.length * 16, fill: "var(--surface)" }));
    parts.forEach((words, n) => out.push(s("text", { x: middle, y: y + 4 + (n - (parts.length - 1) / 2) * 16, "text-anchor": "middle", "font-size": 12, "font-weight": 700, fill: "var(--tear)" }, fit(words, x2 - x1 - 8, "700 12px"))));
  }
  return out;
}

function drawHead(story, g) {
  const out = [];
  story.lanes.forEach((lane, i) => {
    const x = g.life(i), room = Math.min(150, story.lanes.length > 2 ? g.lane - 24 : i === 0 ? (x - g.gutter) * 2 : (g.width - x) * 2) - 18;
    // The mark and the gap behind it belong to the name; beside it stands the title of the memory.
    const beside = (Math.abs(g.trackX(0) + (g.mem - 8) / 2 - x) - Math.max(g.mem / 2, g.narrow ? 26 : 44) - 4) * 2 - 16;
    const name = fitMiddle(lane.name, Math.max(24, i < 2 ? Math.min(room, beside) : room), "620 13.5px"), w = widthOf(name, "620 13.5px") + 16;
    out.push(i === 0 ? s("rect", { x: x - w / 2, y: 18, width: 9, height: 9, fill: "var(--a)" }) : s("circle", { cx: x - w / 2 + 4.5, cy: 22.5, r: 4.5, fill: "var(--b)" }));
    out.push(s("text", { x: x - w / 2 + 15, y: 27, "font-size": 13.5, "font-weight": 620, fill: "var(--ink)" }, name, s("title", {}, lane.name)));
  });
  const middle = g.trackX(0) + (g.mem - 8) / 2;
  if (g.shown.length) out.push(s("text", { x: middle, y: 15, "text-anchor": "middle", "font-size": 11.5, fill: "var(--ink2)" }, isDeadlock(story) ? "locks" : g.narrow ? "memory" : "shared memory"));
  g.shown.forEach((v, t) => out.push(s("text", { x: g.trackX(t) + (g.track - 8) / 2, y: 31, "text-anchor": "middle", "font-size": 12, "font-family": MONO, fill: "var(--ink)" }, g.shown.length > 1 ? fitEnd(story.variables[v].name, g.track - 6, "400 12px mono") : fit(story.variables[v].name, g.track + 26, "400 12px mono"), s("title", {}, story.variables[v].full))));
  return out;
}

// One picture. `view` says which step is current and whether the future is dimmed.
function diagram(story, W, view) {
  const g = layout(story, W, view.opened);
  const svg = s("svg", { width: g.width, height: g.height, viewBox: `0 0 ${g.width} ${g.height}`, role: "group", "aria-label": "Interleaving of the threads, a row for each step", "font-family": "var(--sans)" });
  svg.append(s("defs", {}, s("pattern", { id: "hatch", width: 5, height: 5, patternUnits: "userSpaceOnUse", patternTransform: "rotate(45)" }, s("rect", { width: 5, height: 5, fill: "var(--surface)" }), s("path", { d: "M0 0V5", stroke: "var(--ink2)", "stroke-width": 2.4 }))));
  const current = story.rows.findIndex((row) => row.step === view.step);
  const marks = { arrows: [], lost: [] };
  const band = current < 0 ? [] : [s("rect", { x: g.gutter, y: g.rows[current].top + 1, width: g.width - g.gutter, height: g.rows[current].bottom - g.rows[current].top - 2, rx: 3, fill: "var(--line)", opacity: .75 })];
  const slices = drawMemory(story, g, marks);
  svg.append(...band, ...drawLives(story, g), ...drawBoxes(story, g), ...slices, ...drawHeld(story, g), ...drawSwitches(story, g), ...drawRips(story, g), ...drawRunning(story, g), ...marks.arrows, ...drawCurves(story, g), ...marks.lost, ...drawHead(story, g));
  story.rows.forEach((row, i) => svg.append(...drawRow(story, g, row, i, view.opened)));
  svg.append(...drawNumbers(story, g, current));
  if (view.dim && current >= 0 && g.rows[current].bottom < g.height) svg.append(s("rect", { x: 0, y: g.rows[current].bottom, width: g.width, height: g.height - g.rows[current].bottom, fill: "var(--surface)", opacity: .5 }));
  svg.append(...hits(story, g, view, current));
  return { svg, g };
}

function drawNumbers(story, g, current) {
  const out = [];
  story.rows.forEach((row, i) => {
    if (!row.step) return;
    const y = g.rows[i].y, x = g.gutter / 2 - 2, now = i === current;
    if (now) out.push(s("rect", { x: x - 11, y: y - 9, width: 22, height: 18, rx: 3, fill: "var(--ink)" }));
    out.push(s("text", { x, y: y + 4, "text-anchor": "middle", "font-size": 11.5, "font-family": MONO, "font-weight": now ? 700 : 400, fill: now ? "var(--bg)" : "var(--ink3)" }, row.step));
    if (now && ["read", "write", "other", "acquire", "request"].includes(row.kind)) {
      const tall = row.key ? 26 : 21;
      out.push(s("rect", { x: g.life(row.lane) - g.ph - 3, y: y - tall / 2 - 3, width: g.ph * 2 + 6, height: tall + 6, rx: row.kind === "read" || row.kind === "request" ? tall / 2 + 3 : 5, fill: "none", stroke: "var(--ink)", "stroke-width": 1.5 }));
    }
  });
  return out;
}

// Transparent rows take clicks, focus and pointers, so that nothing small has to be hit.
function hits(story, g, view, current) {
  return story.rows.map((row, i) => {
    if (row.kind === "switch") return null;
    const at = g.rows[i];
    const gap = row.kind === "gap";
    return s("rect", {
      class: "hit", "data-row": i, x: 1, y: at.top + 1, width: g.width - 2, height: at.bottom - at.top - 2, fill: "transparent", "pointer-events": "all", cursor: "pointer",
      tabindex: gap || i === current ? 0 : -1, role: "button", "aria-label": gap ? row.text : `Step ${row.step}: ${row.text}`,
      "aria-current": i === current ? "step" : undefined, "aria-expanded": gap ? String(view.opened.has(i)) : undefined,
    });
  }).filter(Boolean);
}
