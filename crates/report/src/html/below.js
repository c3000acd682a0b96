// What stands below the stage: why, the graph, fixes, evidence.
function lead(story) {
  const note = h("span", { class: "sr", role: "status" });
  const copy = story.replay.command && h("button", { class: "solid", type: "button", id: "copy", onclick: () => copyCommand(story.replay.command, copy, note) }, "Copy");
  const alike = story.group && story.group.length > 1 ? h("span", { class: "chip" }, `${story.group.indexOf(story) + 1} of ${story.group.length} alike`) : null;
  return h("div", { class: "lead" },
    h("div", {},
      h("div", { class: "meta" }, h("b", {}, statusGlyph(story.status), STATUS[story.status]), h("span", {}, story.kind), h("code", {}, story.block), story.pattern ? h("span", { class: "chip" }, story.pattern) : null, alike, story.labels.map((label) => h("span", { class: "chip" }, label))),
      h("h1", {}, story.headline.map((span) => (span.lane === undefined ? span.text : h("span", { class: side(span.lane) }, span.text)))),
      h("p", { class: "dek" }, story.dek)),
    h("section", { class: "card replay", "aria-label": "Replay" },
      h("div", { class: "row" }, h("span", {}, story.replay.title), copy), story.replay.command ? h("code", { tabindex: 0 }, story.replay.command) : null, h("p", {}, story.replay.note), note));
}

async function copyCommand(text, button, note) {
  let done = true;
  try { await navigator.clipboard.writeText(text); } catch {
    // Pages from a file have no clipboard in some browsers: select it instead.
    const code = button.closest(".replay").querySelector("code");
    getSelection().selectAllChildren(code);
    try { done = document.execCommand("copy"); } catch { done = false; }
  }
  button.textContent = done ? "Copied" : "Press Ctrl+C";
  note.textContent = done ? "Command copied" : "The command is selected";
  setTimeout(() => { button.textContent = "Copy"; }, 1600);
}

function why(story) {
  const certain = story.status === "confirmed";
  const section = h("section", { class: "card section", "aria-labelledby": "why" }, h("h2", { id: "why" }, isDeadlock(story) ? "Why no thread can continue" : certain ? "Why this is not atomic" : "Why this would not be atomic"));
  if (story.orders) {
    section.append(h("p", {}, "If the blocks were atomic, the run would look like one of these orders. Cells marked ≠ differ from what was observed; – depends on code that did not run that way."), ordersTable(story), h("p", { class: "verdict" }, story.orders.verdict));
  }
  section.append(h("ol", { class: "proof" }, story.proof.map((sentence) => h("li", {}, sentence))));
  return section;
}

function ordersTable(story) {
  // Initials tell more than letters in a row, where they differ.
  const parts = story.orders.parts;
  const initials = parts.map((node) => [...node.name][0]?.toUpperCase() ?? "?");
  const letter = (n) => (new Set(initials).size === initials.length ? initials[n] : String(n + 1));
  const seal = (n) => h("span", { class: `seal ${parts[n].lane === 0 ? "" : "lb"}`, "aria-hidden": "true" }, letter(n));
  const name = (n) => parts[n].name;
  return h("div", { class: "scroll", tabindex: 0, role: "group", "aria-label": "Serial orders" }, h("table", { class: "orders" },
    h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "Order tried"), story.orders.columns.map((c) => h("th", { scope: "col" }, c)))),
    h("tbody", {},
      story.orders.orders.map((order) => h("tr", {}, h("td", {}, order.nodes.map(seal), " ", order.nodes.map(name).join(", then ")),
        order.cells.map((cell) => h("td", { class: cell.differs ? "v ne" : "v" }, cell.differs ? h("span", { class: "sr" }, "differs: ") : null, cell.value ?? "–")))),
      h("tr", { class: "seen" }, h("td", {}, "Observed"), story.orders.observed.map((value) => h("td", { class: "v" }, value ?? "–"))))));
}

function graph(story) {
  const n = story.nodes.length;
  const who = story.nodes.map((node) => node.name);
  const circle = n === 2 ? `${who[0]} waits for ${who[1]}, and ${who[1]} for ${who[0]}. Neither can ever go on.` : "Each waits for the next, and the last for the first. None can ever go on.";
  const names = isDeadlock(story) ? circle : n === 2 ? `${story.nodes[0].name} must come before ${story.nodes[1].name}, and ${story.nodes[1].name} before ${story.nodes[0].name}. No order satisfies both.` : `Each of these ${n} must come before the next, and the last before the first. No order satisfies all.`;
  return h("section", { class: "card section", "aria-labelledby": "graph" }, h("h2", { id: "graph" }, isDeadlock(story) ? "Who waits for whom" : "Transaction graph"), h("p", {}, story.status === "confirmed" ? names : "If it happened: " + names), h("div", { class: "graph scroll" }, n === 2 ? drawPair(story) : drawRing(story)),
    n === 2 ? null : h("ol", { class: "proof" }, story.links.map((link) => h("li", {}, link.because))));
}

function nodeBox(node, x, y, w, dash) {
  const c = side(node.lane), tall = 46;
  return [s("rect", { x: x - w / 2, y: y - tall / 2, width: w, height: tall, rx: node.lane === 0 ? 4 : 23, fill: `var(--${c}-tint)`, stroke: `var(--${c})`, "stroke-width": 1.3, "stroke-dasharray": dash }),
    s("text", { x, y: node.block ? y - 3 : y + 5, "text-anchor": "middle", "font-size": 13, "font-weight": 620, fill: "var(--ink)" }, fit(node.name, w - 14, "620 13px"), s("title", {}, node.name)),
    node.block ? s("text", { x, y: y + 14, "text-anchor": "middle", "font-size": 12, fill: "var(--ink2)" }, fit(node.block, w - 14, "400 12px"), s("title", {}, node.block)) : null];
}

function drawPair(story) {
  const W = 460, H = 192, dash = story.status === "confirmed" ? undefined : "4 3";
  const svg = s("svg", { width: "100%", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": story.links.map((l) => l.because).join("; "), "font-family": "var(--sans)" });
  const arc = (d, head) => [s("path", { d, fill: "none", stroke: "var(--tear)", "stroke-width": 1.8, "stroke-dasharray": dash }), s("path", { d: head, fill: "var(--tear)" })];
  const label = (y, words, strong) => s("text", { x: W / 2, y, "text-anchor": "middle", "font-size": strong ? 12.5 : 12, fill: strong ? "var(--ink)" : "var(--ink2)" }, fit(words, W - 12, strong ? "400 12.5px" : "400 12px"), s("title", {}, words));
  svg.append(...arc("M100 72C150 26 310 26 356 68", "M360 72l-9-2 5-7z"), ...arc("M360 120C310 166 150 166 104 124", "M100 120l9 2-5 7z"));
  svg.append(label(14, story.links[0].because, true), label(56, story.links[0].kind), label(144, story.links[1].kind), label(186, story.links[1].because, true));
  svg.append(s("text", { x: W / 2, y: 101, "text-anchor": "middle", "font-size": 13, "font-weight": 700, fill: "var(--tear)" }, "cycle"));
  for (const part of [...nodeBox(story.nodes[0], 90, 96, 152, dash), ...nodeBox(story.nodes[1], 370, 96, 152, dash)]) if (part) svg.append(part);
  return svg;
}

function drawRing(story) {
  const n = story.nodes.length, W = Math.max(460, n * 62), H = Math.max(250, Math.min(620, n * 58));
  const svg = s("svg", { width: "100%", viewBox: `0 0 ${W} ${H}`, role: "img", "aria-label": "A ring of transactions", "font-family": "var(--sans)" });
  const w = n > 8 ? 92 : 124, rx = W / 2 - w / 2 - 6, ry = H / 2 - 32;
  const at = (i) => { const angle = -Math.PI / 2 - Math.PI / n + (2 * Math.PI * i) / n; return [W / 2 + rx * Math.cos(angle), H / 2 + ry * Math.sin(angle)]; };
  story.nodes.forEach((_, i) => {
    const [x1, y1] = at(i), [x2, y2] = at((i + 1) % n);
    // The part of the line outside of both boxes.
    const edge = (x, y, tx, ty) => { const dx = tx - x, dy = ty - y, k = Math.min(Math.abs((w / 2 + 3) / dx || Infinity), Math.abs(26 / dy || Infinity)); return [x + dx * k, y + dy * k]; };
    const [ax, ay] = edge(x1, y1, x2, y2), [bx, by] = edge(x2, y2, x1, y1), turn = (Math.atan2(by - ay, bx - ax) * 180) / Math.PI;
    svg.append(s("path", { d: `M${ax} ${ay}L${bx} ${by}`, stroke: "var(--tear)", "stroke-width": 1.7 }), s("path", { d: "M0 0l-9-4v8z", fill: "var(--tear)", transform: `translate(${bx} ${by}) rotate(${turn})` }));
    const words = story.links[i].kind;
    if (n <= 6 && Math.hypot(bx - ax, (by - ay) * 3) > widthOf(words, "400 11.5px") + 16) {
      svg.append(s("text", { x: (ax + bx) / 2, y: (ay + by) / 2 - 6, "text-anchor": "middle", "font-size": 11.5, fill: "var(--ink2)", stroke: "var(--surface)", "stroke-width": 4, "paint-order": "stroke" }, words));
    }
  });
  story.nodes.forEach((node, i) => { const [x, y] = at(i); for (const part of nodeBox(node, x, y, w)) if (part) svg.append(part); });
  svg.append(s("text", { x: W / 2, y: H / 2 + 4, "text-anchor": "middle", "font-size": 13, "font-weight": 700, fill: "var(--tear)", stroke: "var(--surface)", "stroke-width": 4, "paint-order": "stroke" }, "cycle"));
  return svg;
}

function fixes(story) {
  if (story.fixes.length === 0) return null;
  const line = (kind, sign, text) => h("div", { class: kind }, `${sign} ${text.trim()}`);
  const fix = (f) => h("div", { class: "fix" }, h("div", {}, h("h3", {}, f.title), h("p", {}, f.text)),
    f.removed || f.added ? h("div", { class: "diff" }, (f.removed || []).map((t) => line("del", "-", t)), (f.added || []).map((t) => line("ins", "+", t))) : null);
  return h("section", { class: "card section", "aria-labelledby": "fix" }, h("h2", { id: "fix" }, "How to fix it"), story.fixes.map(fix));
}

function evidence(story) {
  return h("section", { class: "card section", "aria-labelledby": "evidence" }, h("h2", { id: "evidence" }, "Evidence"),
    h("dl", { class: "evidence" }, story.evidence.map(([name, text]) => [h("dt", {}, name), h("dd", {}, text)])));
}
