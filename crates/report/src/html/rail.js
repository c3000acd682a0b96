// The list of findings, with search and filters.
const filter = { text: "", status: "", pattern: "", class: "", label: "" };

function searchText(story) {
  return [story.block, story.kind, story.pattern, story.gist, story.number, ...story.labels, ...story.lanes.map((l) => l.name), ...story.variables.map((v) => v.full), story.headline.map((x) => x.text).join("")].join(" ").toLowerCase();
}

function matches(story) {
  const words = filter.text.toLowerCase().split(/\s+/).filter(Boolean);
  return (!filter.status || story.status === filter.status) && (!filter.pattern || story.kind === filter.pattern) && (!filter.class || story.class === filter.class)
    && (!filter.label || story.labels.includes(filter.label)) && words.every((word) => story.search.includes(word));
}

// Above fifty findings, those of the same block, variable and pattern are one row.
function grouped(stories) {
  if (data.stories.length <= 50) return stories.map((story) => { story.group = [story]; return story.group; });
  const groups = new Map();
  for (const story of stories) {
    const key = [story.status, story.block, story.variables.map((v) => v.name).join(), story.pattern, story.kind].join("\u0000");
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(story);
    story.group = groups.get(key);
  }
  return [...groups.values()];
}

class Rail {
  constructor(open) {
    this.open = open;
    for (const story of data.stories) story.search = searchText(story);
    this.search = h("input", { type: "search", placeholder: "Search findings", "aria-label": "Search findings", id: "search", oninput: () => { filter.text = this.search.value; this.update(); } });
    const distinct = (of) => [...new Set(data.stories.flatMap(of))].filter(Boolean).sort();
    const select = (name, any, values, words = (v) => v) => h("select", { "aria-label": any, "data-filter": name, onchange: (event) => { filter[name] = event.target.value; this.update(); } }, h("option", { value: "" }, any), values.map((v) => h("option", { value: v }, cut(words(v), 60))));
    this.selects = [select("status", "Any status", distinct((x) => x.status), (v) => STATUS[v]), select("pattern", "Any pattern", distinct((x) => x.kind)), select("class", "Any class", distinct((x) => x.class)), select("label", "Any label", distinct((x) => x.labels))];
    this.count = h("p", { class: "count", role: "status" });
    this.list = h("div", { class: "list" });
    this.title = h("span", {});
    this.jump = h("div", { class: "jump" },
      h("button", { class: "title", type: "button", "aria-expanded": "false", onclick: () => { const on = this.element.classList.toggle("open"); this.jump.firstChild.setAttribute("aria-expanded", String(on)); } }, this.title, h("span", { "aria-hidden": "true" }, "▾")),
      h("button", { type: "button", "aria-label": "Previous finding", onclick: () => this.move(-1) }, "‹"), h("button", { type: "button", "aria-label": "Next finding", onclick: () => this.move(1) }, "›"));
    this.element = h("nav", { class: data.stories.length > 50 ? "rail dense" : "rail", "aria-label": "Findings" }, this.jump,
      h("search", { class: "filters" }, h("div", { class: "search" }, this.search, h("kbd", { "aria-hidden": "true" }, "/")), this.selects, this.count), this.list);
    this.update();
  }

  update() {
    const found = data.stories.filter(matches);
    this.groups = grouped(found);
    const total = data.stories.length, active = Object.values(filter).some(Boolean);
    const words = `${found.length === total ? total : `${found.length} of ${total}`} finding${total === 1 ? "" : "s"}`;
    this.count.replaceChildren(words, active ? h("button", { class: "link", type: "button", onclick: () => this.clear() }, "Clear filters") : "");
    const parts = [];
    for (const status of Object.keys(STATUS)) {
      const own = this.groups.filter((group) => group[0].status === status);
      if (own.length === 0) continue;
      parts.push(h("h2", { class: "group" }, statusGlyph(status), STATUS[status], h("span", {}, own.reduce((sum, group) => sum + group.length, 0))), h("ul", {}, own.map((group) => this.item(group))));
    }
    if (parts.length === 0) parts.push(h("p", { class: "none" }, "No finding matches these filters."));
    this.list.replaceChildren(...parts);
    this.items = [...this.list.querySelectorAll(".item")];
    for (const node of document.querySelectorAll(".tally[data-status]")) node.setAttribute("aria-pressed", String(filter.status === node.dataset.status && filter.status !== ""));
    for (const node of this.selects) node.value = filter[node.dataset.filter];
    if (this.current) this.mark(this.current);
  }

  item(group) {
    const story = group[0], names = story.block.split(".");
    const short = names.length > 2 ? names.slice(-2).join(".") : story.block;
    const button = h("button", { class: "item", type: "button", title: story.block, onclick: () => this.choose(group) }, patternGlyph(story),
      h("div", {}, h("b", {}, short || story.kind, group.length > 1 ? h("i", {}, `×${group.length}`) : null), h("span", {}, story.kind), h("span", { class: "third" }, story.gist)));
    button.group = group;
    return h("li", {}, button);
  }

  // A row that stands for many goes on to the next of them each time it is chosen.
  choose(group) {
    const at = group.indexOf(this.current);
    this.open(group[(at + 1) % group.length]);
    this.element.classList.remove("open");
  }

  move(by) {
    const at = this.groups.findIndex((group) => group.includes(this.current));
    const next = this.groups[clamp(0, at + by, this.groups.length - 1)];
    if (next && !next.includes(this.current)) this.open(next[0]);
  }

  clear() {
    for (const name of Object.keys(filter)) filter[name] = "";
    this.search.value = "";
    this.update();
    this.search.focus();
  }

  mark(story) {
    this.current = story;
    const at = data.stories.indexOf(story);
    this.title.textContent = `${at + 1} of ${data.stories.length}: ${story.block || story.kind}`;
    for (const item of this.items) {
      const on = item.group.includes(story);
      if (on !== item.hasAttribute("aria-current")) on ? item.setAttribute("aria-current", "true") : item.removeAttribute("aria-current");
      if (on) this.reveal(item);
    }
  }

  // Scrolls the list only: the page stays where the reader has put it.
  reveal(item) {
    const box = item.getBoundingClientRect(), own = this.element.getBoundingClientRect(), bottom = Math.min(own.bottom, innerHeight);
    if (box.top < own.top) this.element.scrollTop -= own.top - box.top + 8;
    else if (box.bottom > bottom) this.element.scrollTop += box.bottom - bottom + 8;
  }
}
