// Puts the page together and keeps address, keys and theme in step with it.
let rail = null, stage = null, shown = null;
const story = h("main", { id: "story", tabindex: -1 });

function open(next, step) {
  if (stage) stage.observer.disconnect();
  shown = next;
  stage = next.rows.length ? new Stage(next, step, remember) : null;
  const parts = [lead(next), next.notice ? h("section", { class: "card notice" }, h("h2", {}, next.notice.title), h("p", {}, next.notice.text)) : null, stage && stage.element];
  if (next.nodes.length > 1) parts.push(h("div", { class: "pair" }, why(next), graph(next)));
  else if (isDeadlock(next)) parts.push(why(next));
  parts.push(fixes(next), evidence(next), ...failures(), ...folded());
  story.replaceChildren(...parts.filter(Boolean));
  if (stage) stage.show();
  if (rail) rail.mark(next);
  document.title = `${next.block || next.kind}: ${data.title}`;
  if (!step) remember(null);
}

// Runs that failed and that no torn block explains.
/** What happened and is not counted: behind a disclosure, because nobody has to act on it. */
function folded() {
  if (!data.folded.length) return [];
  const lines = h("ul", {}, data.folded.map((line) => h("li", {}, line)));
  return [h("details", { class: "card notice" }, h("summary", {}, "Not counted: " + data.folded.length), lines)];
}

function failures() {
  return data.failures.map((failure) => h("section", { class: "card notice" }, h("h2", {}, failure.title),
    failure.calls ? calls(failure.calls) : null, h("ul", {}, failure.sentences.map((sentence) => h("li", {}, sentence))), h("p", {}, h("code", {}, failure.replay))));
}

// The calls of a scenario, with what each gives in the sequential order that comes nearest.
function calls(table) {
  const head = ["", "when", "call", "result", "nearest sequential order"].map((text) => h("th", {}, text));
  const rows = table.rows.map((row, at) => {
    const place = table.nearest.indexOf(at);
    const cells = [row.section, `${row.span[0]}–${row.span[1]}`, row.call, row.result, `${place < 0 ? "" : `${place + 1}. `}${row.sequential}${row.differs ? "  ← differs" : ""}`];
    return h("tr", { class: row.differs ? "differs" : undefined }, cells.map((text) => h("td", {}, text)));
  });
  return h("table", { class: "calls" }, h("thead", {}, h("tr", {}, head)), h("tbody", {}, rows));
}

function remember(step) {
  // A page from a file may not be allowed to change its address; nothing is lost but the link.
  try { history.replaceState(null, "", `#f=${shown.number}${step ? `&step=${step}` : ""}`); } catch { /* no link */ }
}

function restore() {
  const asked = new URLSearchParams(location.hash.slice(1));
  const found = data.stories.find((x) => x.number === Number(asked.get("f")));
  open(found || data.stories[0], found && Number(asked.get("step")) > 0 ? Math.floor(Number(asked.get("step"))) : undefined);
}

function tally(status, count, words) {
  const seen = status === "unseen";
  return h("button", { class: "tally", type: "button", "data-status": seen ? undefined : status, "aria-pressed": seen ? undefined : "false", "aria-haspopup": seen ? "dialog" : undefined, onclick: () => {
    if (seen) return dialogs.unseen.showModal();
    filter.status = filter.status === status ? "" : status;
    if (rail) rail.update();
  } }, h("b", {}, statusGlyph(status), count), h("span", {}, words));
}

function header() {
  const count = (status) => data.stories.filter((x) => x.status === status).length;
  return h("header", {}, h("div", { class: "brand" }, logo(), "Untorn"),
    h("div", { class: "run" }, h("p", { title: data.command }, h("b", {}, data.name), h("code", {}, data.command)), h("p", {}, data.line)),
    h("div", { class: "tallies" }, tally("confirmed", count("confirmed"), STATUS.confirmed), tally("predicted", count("predicted"), STATUS.predicted), tally("undecided", count("undecided"), STATUS.undecided), tally("unseen", data.unseen.length, "Not instrumented")),
    h("div", { class: "icons" },
      h("button", { class: "icon", type: "button", id: "theme", title: "Light or dark (t)", "aria-label": "Switch between light and dark", onclick: toggleTheme }, icon("theme")),
      h("button", { class: "icon", type: "button", title: "Keys (?)", "aria-label": "Keys", onclick: () => dialogs.keys.showModal() }, icon("keys"))));
}

const dialogs = {};
function dialog(name, title, ...content) {
  const box = h("dialog", { id: name, "aria-label": title }, h("h2", {}, title), content, h("div", { class: "foot" }, h("button", { class: "plainbtn", type: "button", onclick: () => box.close() }, "Close")));
  dialogs[name] = box;
  return box;
}

function makeDialogs() {
  const keys = [["j k", "next, previous finding"], ["← →", "step back, on"], ["1 2 3", "the key accesses"], ["Home End ↑ ↓", "in the picture or the slider"], ["c", "copy the command"], ["/", "search"], ["t", "light or dark"], ["?", "this list"], ["Esc", "closes"]];
  const single = h("input", { type: "checkbox", id: "single", onchange: () => memory.set("keys", single.checked ? "on" : "off") });
  single.checked = memory.get("keys") !== "off";
  const unseen = data.unseen.length ? h("ul", {}, data.unseen.map((line) => h("li", {}, line))) : h("p", {}, "Everything that was loaded was instrumented, as far as the recorder can tell.");
  return [dialog("keys", "Keys", h("dl", { class: "keys" }, keys.map(([key, words]) => [h("dt", {}, key.split(" ").map((k) => [h("kbd", {}, k), " "])), h("dd", {}, words)])), h("label", {}, single, "Keys of a single letter")),
    dialog("unseen", "Not instrumented", h("p", {}, "What was not recorded cannot be found torn. A report without findings says nothing about it."), unseen)];
}

function onKey(event) {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  const target = event.target, typing = target.matches("input:not([type=range]):not([type=checkbox]), select, textarea");
  if (event.key === "Escape" && typing) return target.blur();
  if (typing || document.querySelector("dialog[open]")) return;
  if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
    if (!stage || target.matches("input[type=range]")) return;
    stage.go(stage.view.step + (event.key === "ArrowRight" ? 1 : -1), target.closest(".middle") !== null);
    return event.preventDefault();
  }
  if (memory.get("keys") === "off" && event.key.length === 1 && event.key !== "?") return;
  const keys = {
    j: () => rail && rail.move(1), k: () => rail && rail.move(-1), c: () => document.getElementById("copy")?.click(), t: toggleTheme,
    "/": () => { if (rail) { rail.element.classList.add("open"); rail.search.focus(); } }, "?": () => dialogs.keys.showModal(),
    1: () => stage && stage.key(1), 2: () => stage && stage.key(2), 3: () => stage && stage.key(3),
  };
  if (Object.hasOwn(keys, event.key)) { keys[event.key](); event.preventDefault(); }
}

function empty() {
  story.append(...failures(), ...folded());
  story.append(h("section", { class: "card empty" }, h("h1", {}, data.empty.title), h("p", { class: "dek" }, data.empty.text),
    h("div", { class: "row" }, h("button", { class: "plainbtn", type: "button", onclick: () => dialogs.unseen.showModal() }, "See what was not instrumented"), data.empty.command ? h("code", {}, data.empty.command) : null)));
}

applyTheme();
system.addEventListener("change", () => applyTheme());
let before = null;
addEventListener("beforeprint", () => { before = document.documentElement.dataset.theme; applyTheme("light"); if (stage) { stage.width = 0; stage.draw(); } });
addEventListener("afterprint", () => applyTheme(before));
const frame = h("div", { class: "frame" });
document.getElementById("app").append(header(), frame, ...makeDialogs());
if (data.stories.length === 0) {
  frame.classList.add("bare");
  frame.append(story);
  empty();
} else {
  rail = new Rail(open);
  frame.append(rail.element, story);
  restore();
  addEventListener("hashchange", restore);
}
document.addEventListener("keydown", onKey);
