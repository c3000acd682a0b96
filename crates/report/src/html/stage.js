// The stage: controls, sentence, the two sources and the picture between them.
const CONTROLS = [["first", "First step"], ["previous", "Step back"], ["next", "Step on"], ["last", "Last step"]];

// The value of each variable at a step, and the one that the step replaced.
function memoryAt(story, step) {
  return story.variables.map((variable, v) => {
    let value = variable.before, before = null;
    for (const row of story.rows) {
      if (!row.step || row.step > step) continue;
      before = null;
      if ((row.kind === "write" || row.kind === "acquire") && row.variable === v) { before = isDeadlock(story) ? null : value ?? "?"; value = row.value ?? "?"; }
    }
    return { name: variable.name, full: variable.full, value: value ?? (isDeadlock(story) ? "–" : "?"), before };
  });
}

// Three threads or three variables need the whole width; two variables a little more than one.
function columnsOf(story) {
  const tracks = tracksOf(story).length;
  return story.lanes.length > 2 || tracks > 2 ? "columns wide" : tracks === 2 ? "columns two" : "columns";
}

class Stage {
  constructor(story, step, onstep) {
    this.story = story;
    this.steps = story.rows.filter((row) => row.step);
    this.keys = story.rows.filter((row) => row.key);
    // The moment of the tear: the third access of a pattern, the last one of a longer cycle.
    const third = this.keys.at(-1) || this.steps.at(-1);
    this.view = { step: step || third.step, dim: Boolean(step), opened: new Set() };
    this.view.step = clamp(1, this.view.step, this.steps.length);
    this.onstep = onstep;
    this.build();
  }

  build() {
    const n = this.steps.length;
    this.buttons = CONTROLS.map(([name, words]) => h("button", { class: `step ${name}`, type: "button", title: words, "aria-label": words, onclick: () => this.control(name) }, icon(name)));
    this.range = h("input", { type: "range", min: 1, max: n, step: 1, "aria-label": "Step", oninput: () => this.go(Number(this.range.value)) });
    const letters = { read: "R", write: "W", other: "•", begin: "•", end: "•", acquire: "●", request: "○" };
    const ticks = this.keys.map((row) => h("span", { class: "tick", "aria-hidden": "true" }, letters[row.kind]));
    ticks.forEach((tick, i) => { tick.style.left = `calc(8px + (100% - 16px) * ${n > 1 ? (this.keys[i].step - 1) / (n - 1) : 0})`; });
    this.where = h("span", { class: "where" });
    this.sentence = h("div", { class: "sentence" });
    this.left = h("section", { class: "pane left la", "aria-label": "Source of the torn thread" });
    this.right = h("section", { class: "pane right lb", "aria-label": "Source of the other thread" });
    this.middle = h("div", { class: "middle" });
    this.astext = h("ol", { class: "astext", hidden: true, "aria-label": "The steps as text" }, this.steps.map((row) => h("li", {}, h("span", {}, row.step), h("span", {}, row.text), h("code", {}, row.place || ""))));
    const toggle = h("button", { class: "link", type: "button", "aria-expanded": "false", onclick: () => { this.astext.hidden = !this.astext.hidden; toggle.setAttribute("aria-expanded", String(!this.astext.hidden)); } }, "Read the steps as text");
    this.element = h("section", { class: "card stage", "aria-label": "What happened, step by step" },
      h("div", { class: "bar" }, this.buttons, h("div", { class: "slide" }, ticks, this.range), this.where),
      this.sentence, h("div", { class: columnsOf(this.story) }, this.left, this.middle, this.right), legend(this.story, toggle), this.astext);
    this.listen();
  }

  listen() {
    this.middle.addEventListener("click", (event) => this.press(event.target.closest(".hit")));
    this.middle.addEventListener("keydown", (event) => {
      if (event.key === "Enter" || event.key === " ") { this.press(event.target.closest(".hit")); event.preventDefault(); }
      const moves = { ArrowDown: 1, ArrowUp: -1 };
      if (event.key in moves) { this.go(this.view.step + moves[event.key], true); event.preventDefault(); }
      if (event.key === "Home") { this.go(1, true); event.preventDefault(); }
      if (event.key === "End") { this.go(this.steps.length, true); event.preventDefault(); }
    });
    for (const name of ["pointerover", "focusin"]) this.middle.addEventListener(name, (event) => this.tip(event.target.closest(".hit")));
    for (const name of ["pointerleave", "focusout"]) this.middle.addEventListener(name, () => this.tip(null));
    this.observer = new ResizeObserver(() => this.draw());
    this.observer.observe(this.middle);
  }

  press(hit) {
    if (!hit) return;
    const i = Number(hit.dataset.row), row = this.story.rows[i];
    if (row.kind === "gap") {
      if (!this.view.opened.delete(i)) this.view.opened.add(i);
      this.width = 0;
      this.draw();
      const again = this.middle.querySelector(`[data-row="${i}"]`);
      if (again) again.focus();
    } else this.go(row.step, true);
  }

  control(name) {
    const to = { first: 1, previous: this.view.step - 1, next: this.view.step + 1, last: this.steps.length }[name];
    this.go(to);
  }

  go(step, focus) {
    const next = clamp(1, step, this.steps.length);
    this.view.step = next;
    this.view.dim = true;
    this.width = 0;
    this.show();
    if (focus) this.middle.querySelector('.hit[aria-current="step"]')?.focus({ preventScroll: true });
    this.onstep(next);
  }

  key(number) {
    const row = this.keys[number - 1];
    if (row) this.go(row.step);
  }

  show() {
    const { story, view } = this, row = this.steps[view.step - 1], n = this.steps.length;
    this.range.value = view.step;
    this.range.setAttribute("aria-valuetext", row.text);
    this.where.textContent = `Step ${view.step} of ${n}`;
    this.buttons[0].disabled = this.buttons[1].disabled = view.step === 1;
    this.buttons[2].disabled = this.buttons[3].disabled = view.step === n;
    const effect = row.kind === "effect";
    const who = effect ? h("span", { class: "who le" }, "Effect") : h("span", { class: `who l${side(row.lane)}` }, story.lanes[row.lane].name);
    const parts = [who, h("span", { class: "what", "aria-live": "polite" }, row.text), memoryLine(story, view.step)];
    this.sentence.replaceChildren(...parts.filter(Boolean));
    // With more than two threads the right pane belongs to the one that acted last.
    const last = this.steps.slice(0, view.step).findLast((r) => r.kind !== "effect" && r.lane !== 0);
    const first = this.steps.find((r) => r.lane !== 0);
    pane(this.left, story, 0, view.step);
    pane(this.right, story, (last || first || { lane: 1 }).lane, view.step);
    this.draw();
    this.scrollSources();
  }

  scrollSources() {
    for (const box of this.element.querySelectorAll(".source")) {
      const line = box.querySelector(".at, .paused");
      if (!line) continue;
      const top = line.offsetTop - box.offsetTop;
      if (top < box.scrollTop || top + 20 > box.scrollTop + box.clientHeight) box.scrollTop = top - box.clientHeight / 2;
    }
  }

  draw() {
    const room = this.middle.clientWidth - 16;
    if (room < 40 || room === this.width) return;
    this.width = room;
    const W = Math.min(room, this.story.lanes.length > 2 ? 250 * this.story.lanes.length : 600);
    const { svg, g } = diagram(this.story, W, this.view);
    this.g = g;
    // A picture that is drawn anew keeps the focus where it was.
    const held = this.middle.contains(document.activeElement) ? document.activeElement.dataset.row : undefined;
    this.middle.replaceChildren(svg);
    if (held !== undefined) this.middle.querySelector(`[data-row="${held}"]`)?.focus({ preventScroll: true });
  }

  // In the lane of another thread at that row: nobody runs there.
  tip(hit) {
    this.middle.querySelector(".tip")?.remove();
    const row = hit && this.story.rows[Number(hit.dataset.row)];
    if (!row || row.kind === "gap" || row.kind === "effect") return;
    const at = this.g.rows[Number(hit.dataset.row)], svg = this.middle.querySelector("svg");
    const lines = [[row.place, row.at === undefined ? "" : `event ${row.at}`].filter(Boolean).join(" · ")];
    if (row.value !== undefined) lines.push(`${this.story.variables[row.variable]?.full ?? row.label} ${row.kind === "write" ? "←" : "→"} ${row.value}`);
    if (row.calls?.length) lines.push(`in ${row.calls.slice(-3).reverse().join(", called by ")}`);
    if (row.locks?.length) lines.push(`holds ${row.locks.join(", ")}`);
    const tip = h("div", { class: "tip", role: "tooltip" }, h("p", {}, row.text), lines.filter(Boolean).map((line) => h("p", {}, line)));
    this.middle.append(tip);
    const x = row.lane === 0 ? this.g.life(1) - this.g.ph : this.g.gutter + 4;
    tip.style.left = `${clamp(4, svg.offsetLeft + x, this.middle.clientWidth - tip.offsetWidth - 4)}px`;
    tip.style.top = `${svg.offsetTop + at.bottom + 2}px`;
  }
}

function memoryLine(story, step) {
  const shown = memoryAt(story, step);
  const changed = shown.filter((v) => v.before !== null);
  const few = (shown.length > 3 ? (changed.length ? changed : shown) : shown).slice(0, 3);
  if (few.length === 0) return null;
  return h("span", { class: "memory" }, isDeadlock(story) ? "Held by" : "Shared memory", few.map((v) => [h("code", { title: v.full }, v.name, " ", v.before === null ? null : [h("s", {}, cut(v.before, 24)), " → "]), h("b", {}, cut(v.value, 24))]));
}

function pane(element, story, lane, step) {
  const info = story.lanes[lane];
  if (!info) { element.replaceChildren(); return; }
  const here = whereabouts(story, lane, step);
  const files = excerptsFor(story, lane);
  const current = here.place && files.find((e) => e.file === here.place.file);
  const path = current ? current.path : here.place ? here.place.file : files.length ? files[0].path : info.file;
  element.replaceChildren(
    h("div", { class: "pane-head" },
      h("div", {}, h("span", { class: `glyph l${side(lane)}` }), h("b", { title: info.name }, info.name), h("span", { class: "call", title: info.block }, info.block), h("span", { class: "state" }, here.state)),
      h("p", { title: path }, path || "no file known")),
    sourceOf(story, lane, here), facts(story, lane, step, here));
}

// `java.lang.StringBuffer.append` without its package.
const bare = (name) => name.split(".").slice(-2).join(".");

// What the thread knows, and whether that is still so.
function facts(story, lane, step, here) {
  if (isDeadlock(story)) return lockFacts(story, lane, here);
  const now = memoryAt(story, step), list = h("dl", { class: "facts" });
  story.variables.slice(0, 3).forEach((variable, v) => {
    const own = here.past.findLast((row) => row.variable === v && row.value !== undefined);
    if (!story.rows.some((row) => row.lane === lane && row.variable === v && row.value !== undefined)) return;
    const stale = own && !here.over && now[v].value !== own.value;
    list.append(h("dt", {}, own && own.kind === "write" ? `wrote ${variable.name}` : `read ${variable.name}`), h("dd", {}, own ? cut(own.value, 40) : "–", stale ? [" ", h("i", {}, "stale")] : null));
  });
  const row = here.past.at(-1);
  const known = story.rows.some((r) => r.lane === lane && r.calls?.length);
  if (known) {
    list.append(h("dt", {}, "locks held"), h("dd", {}, here.running && row.locks?.length ? row.locks.join(", ") : here.running ? "none" : "–"));
    list.append(h("dt", {}, "in"), h("dd", { title: row?.calls?.join(" › ") }, row?.calls?.length ? bare(row.calls.at(-1)) : "–"));
  }
  return list;
}

// What the thread has and what it wants.
function lockFacts(story, lane, here) {
  const held = here.past.filter((row) => row.kind === "acquire").map((row) => row.label), wanted = here.past.find((row) => row.kind === "request");
  const last = here.past.at(-1);
  return h("dl", { class: "facts" }, h("dt", {}, "locks held"), h("dd", {}, held.join(", ") || "none"), h("dt", {}, "waits for"), h("dd", {}, wanted ? [wanted.label, " ", h("i", {}, "for ever")] : "–"),
    h("dt", {}, "in"), h("dd", { title: last?.calls?.join(" › ") }, last?.calls?.length ? bare(last.calls.at(-1)) : "–"));
}

function legend(story, toggle) {
  const mark = (drawing, words) => h("span", {}, s("svg", { width: 18, height: 14, viewBox: "0 0 18 14", "aria-hidden": "true" }, drawing), words);
  const line = { fill: "none", "stroke-width": 1.6 };
  if (isDeadlock(story)) return h("div", { class: "legend" },
    mark(s("rect", { x: 2, y: 2.500, width: 14, height: 9, rx: 1.500, fill: "var(--ink2)" }), "takes a lock"),
    mark(s("rect", { x: 1.500, y: 2.500, width: 15, height: 9, rx: 4.500, fill: "none", stroke: "var(--ink2)", "stroke-width": 1.4, "stroke-dasharray": "3 2" }), "waits for one"),
    mark(s("rect", { x: 6, y: 1, width: 5, height: 12, rx: 1, fill: "url(#hatch)", stroke: "var(--ink2)", "stroke-width": .8 }), "lock held"),
    mark(s("path", { d: "M1 10C8 10 9 4 17 4", stroke: "var(--tear)", ...line }), "from who wants it to who has it"),
    mark(s("path", { d: "M1 7h16", stroke: "var(--ctl)", ...line, "stroke-dasharray": "4 3" }), "context switch"), toggle);
  return h("div", { class: "legend" },
    mark(s("rect", { x: 1.500, y: 2.500, width: 15, height: 9, rx: 4.500, fill: "none", stroke: "var(--ink2)", "stroke-width": 1.4 }), "read"),
    mark(s("rect", { x: 2, y: 2.500, width: 14, height: 9, rx: 1.500, fill: "var(--ink2)" }), "write"),
    story.rows.some((r) => r.locks?.length) ? mark(s("rect", { x: 6, y: 1, width: 5, height: 12, rx: 1, fill: "url(#hatch)", stroke: "var(--ink2)", "stroke-width": .8 }), "lock held") : null,
    story.rips.length ? mark(s("path", { d: "M1 9l3-5 3 6 3-6 3 6 3-5", stroke: "var(--tear)", ...line, "stroke-width": 2 }), "tear") : null,
    mark(s("path", { d: "M1 4C8 4 9 10 17 10", stroke: "var(--tear)", ...line }), "conflict, in order"),
    mark(s("path", { d: "M1 7h16", stroke: "var(--ctl)", ...line, "stroke-dasharray": "4 3" }), "context switch"),
    story.status === "predicted" ? mark(s("rect", { x: 1.500, y: 2.500, width: 15, height: 9, fill: "none", stroke: "var(--ink2)", "stroke-dasharray": "3 2" }), "not observed") : null,
    toggle);
}
