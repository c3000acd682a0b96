// Source lines with a little emphasis: keywords, strings, comments. Good enough for C-like languages.
const WORDS = new Set("abstract assert auto bool boolean break byte case catch char class const continue default delete do double else enum extends final finally float for fn if implements import in instanceof int interface let long loop match mod mut native new null package private protected pub public record return self short signed sizeof static struct super switch synchronized this throw throws transient try type typedef unsigned use val var virtual void volatile where while yield true false".split(" "));
const TOKENS = /("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(\/\/.*$|\/\*.*?(?:\*\/|$))|([A-Za-z_$][\w$]*)|([^A-Za-z_$"'/]+|.)/g;

function colored(line) {
  const out = [];
  for (const [all, text, comment, word] of line.matchAll(TOKENS)) {
    if (text) out.push(h("q", {}, all));
    else if (comment) out.push(h("em", {}, all));
    else if (word && WORDS.has(word)) out.push(h("b", {}, all));
    else out.push(all);
  }
  return out;
}

const lineOf = (place) => {
  const found = (place || "").match(/^(.*):(\d+)$/);
  return found ? { file: found[1], line: Number(found[2]) } : null;
};

// The excerpts that a lane needs: those that hold a line of it, else nothing.
function excerptsFor(story, lane) {
  const places = story.rows.filter((row) => row.lane === lane).map((row) => lineOf(row.place)).filter(Boolean);
  return (story.sources || []).map((i) => data.excerpts[i]).filter((e) =>
    places.some((p) => p.file === e.file && p.line >= e.first && p.line < e.first + e.lines.length));
}

// Where a lane is at a step, and how to say it.
function whereabouts(story, lane, step) {
  const own = story.rows.filter((row) => row.lane === lane && row.step && row.kind !== "effect");
  const past = own.filter((row) => row.step <= step);
  const now = story.rows.find((row) => row.step === step);
  const at = past.findLast((row) => row.place);
  const place = at && lineOf(at.place);
  const running = now && now.kind !== "effect" && now.lane === lane;
  if (past.length === 0) return { state: "not started", place: null, past };
  const over = past.length === own.length;
  if (past.at(-1).kind === "request") return { state: place ? `waits at ${place.line}` : "waits", place, running, past };
  const done = over && past.at(-1).kind === "end";
  if (running) return { state: place ? `at line ${place.line}` : "running", place, running, past };
  if (done) return { state: "finished", place, past, over };
  if (over && !own.some((row) => row.kind === "begin")) return { state: "done here", place, past, over };
  return { state: place ? `paused at ${place.line}` : "paused", place, past };
}

function sourceOf(story, lane, here) {
  const found = excerptsFor(story, lane);
  if (found.length === 0) {
    const any = story.rows.find((row) => row.lane === lane && row.place);
    const place = any && lineOf((here.place && `${here.place.file}:${here.place.line}`) || any.place);
    return h("p", { class: "missing" }, place ? `Source not found: ${place.file}, line ${place.line}` : "The trace does not say where this stands in the source");
  }
  const box = h("div", { class: "source", tabindex: 0, role: "group", "aria-label": "Source" });
  found.forEach((excerpt, n) => {
    if (n > 0) box.append(h("div", { class: "fold" }, found[n - 1].file === excerpt.file ? "⋯" : excerpt.file));
    // Indentation that all lines share only takes room.
    const indents = excerpt.lines.filter((l) => l.trim()).map((l) => l.match(/^[ \t]*/)[0].length);
    const common = Math.min(...indents, 40);
    excerpt.lines.forEach((line, i) => {
      const number = excerpt.first + i;
      const here_ = here.place && here.place.file === excerpt.file && here.place.line === number;
      const mark = here_ ? (here.running ? "▶" : "‖") : "";
      box.append(h("div", { class: "l" + (here_ ? (here.running ? " at" : " paused") : ""), "aria-current": here_ && here.running ? "true" : undefined }, h("i", {}, mark), h("span", {}, number), h("code", {}, colored(line.slice(common)))));
    });
  });
  return box;
}
