// The page: the chosen finding, the keys, light and dark.

const DATA = JSON.parse(document.getElementById("data").textContent);
const TRACES = DATA.traces.map((raw) => (raw.columns ? new Trace(raw) : null));
const TIP = make("div", { id: "tip", role: "tooltip", hidden: true });
document.body.append(TIP);

// One finding, with its two timelines and the step that was done last.
class View {
  constructor(finding, number) {
    this.finding = finding;
    this.prefix = `f${number}`;
    this.trace = TRACES[finding.trace];
    this.count = 0;
    this.allThreads = false;
    this.element = make("article", {}, ...this.header());
    if (this.trace && finding.runs) this.timelines();
    else this.element.append(make("p", { class: "empty" }, finding.steps > 0 && TRACES[finding.trace]
      ? "The witness needs more events than a page holds. The terminal report shows its decisive part."
      : "The trace was not at hand: no timeline."));
    this.element.append(this.explanation());
  }

  header() {
    const f = this.finding;
    const chips = [DATA.kinds[f.kind].words, `${f.steps.toLocaleString("en")} steps`,
      f.verified ? "accepted by the checker" : "not checked", `engine ${f.engine}`];
    chips.push({ confirmed: "confirmed by the replay", unconfirmed: "not confirmed by the replay", "not-replayed": "not replayed" }[f.confirmation]);
    if (f.baseline) chips.push(f.baseline === "new" ? "new" : "known before");
    const what = [];
    const more = [];
    let list = what;
    const say = (name, value) => list.push(make("dt", {}, name), make("dd", {}, value));
    if (f.replay) say("Replayed", make("span", { class: `verdict${f.replay.wrong ? " wrong" : ""}` }, f.replay.text));
    else say("Replayed", "no");
    if (f.command) say("Replay it", make("code", {}, f.command));
    if (f.tests && f.tests.length) say("Tests", f.tests.join(", "));
    if (f.rust) say("Rust", f.rust);
    list = more;
    if (f.suppressed) say("Suppressed by", make("code", {}, `${f.suppressed.rule} (${f.suppressed.at})`));
    else say("Suppress it", make("code", {}, f.suppress));
    if (f.fingerprint) say("Fingerprint", make("code", {}, f.fingerprint));
    if (DATA.traces[f.trace].process) say("Process", DATA.traces[f.trace].process);
    say("Trace", `${DATA.traces[f.trace].path}, ${DATA.traces[f.trace].events.toLocaleString("en")} events, model ${DATA.traces[f.trace].model}`);
    return [make("p", { class: "chips" }, make("b", {}, f.id), ...chips.map((c) => make("span", {}, c))),
      make("h2", {}, ...inCode(f.headline)), make("dl", { class: "what" }, ...what),
      make("details", { class: "more" }, make("summary", {}, "Trace, suppression, fingerprint"), make("dl", { class: "what" }, ...more))];
  }

  timelines() {
    const f = this.finding;
    const rows = this.trace.schedule(f);
    this.witness = new Simulation(this.trace, rows, f.values);
    this.variableNames = new Set();
    this.lockNames = new Set();
    for (let row = 0; row < this.trace.length; row++) {
      if (this.trace.isAccess(row)) this.variableNames.add(this.trace.object(row));
      else if (this.trace.lock(row) !== null) this.lockNames.add(this.trace.lock(row));
    }
    const observed = new Simulation(this.trace, Int32Array.from({ length: this.trace.length }, (_, row) => row));
    const decisive = new Set(f.decisive.map((step) => rows[step]));
    for (const row of [...f.pattern, ...f.blocked, ...f.notes.map((n) => n.row)]) decisive.add(row);
    this.right = new Timeline(this, "The witness", this.witness, f.decisive, f.blocked);
    this.left = new Timeline(this, "As it was observed", observed, [...decisive], []);
    this.overview = rows.length > SHORTEST ? new Overview(this) : null;
    this.slider = make("input", { type: "range", min: "0", max: String(rows.length), value: "0", "aria-label": "Step", oninput: () => this.go(Number(this.slider.value)) });
    this.output = make("output", {});
    const button = (text, title, act) => make("button", { type: "button", title, "aria-label": title, onclick: act }, text);
    const player = make("div", { class: "player", role: "group", "aria-label": "Steps" },
      button("|◀", "To the start (Home)", () => this.go(0)), button("◀", "One step back (←)", () => this.go(this.count - 1)),
      button("▶", "One step on (→)", () => this.go(this.count + 1)), button("▶▶", "To the next step that decides (Shift →)", () => this.jump(1)),
      this.slider, this.output, button("Unfold", "Unfold or fold everything (u)", () => this.unfoldAll()));
    this.beside = make("div", { class: "beside" });
    const legend = make("ul", { class: "legend" }, ...[["from", "reads from"], ["conflict", "conflict"], ["hand", "lock hand-over"]]
      .map(([kind, text]) => make("li", { class: kind }, make("i"), text)));
    // The witness decides: it comes first, and alone where there is no room for two.
    const panels = make("div", { class: `panels${this.neededThreads().length > 3 ? " wide" : ""}` }, this.right.element, this.left.element);
    this.element.append(player, ...(this.overview ? [this.overview.element] : []),
      make("div", { class: "work" }, make("div", {}, panels, legend), this.beside));
  }

  // The threads of the finding's own events, in their order.
  neededThreads() {
    const rows = [...this.finding.pattern, ...this.finding.blocked];
    return [...new Set(rows.map((row) => this.trace.thread[row]))];
  }

  explanation() {
    return make("details", { class: "explain" }, make("summary", {}, `What is this? ${DATA.kinds[this.finding.kind].words}`),
      ...paragraphs(DATA.kinds[this.finding.kind].explain));
  }

  // Shows the state after so many steps.
  go(count) {
    if (!this.witness) return;
    this.count = Math.max(0, Math.min(this.witness.rows.length, count));
    this.refresh();
    this.reveal(this.right.lanes.querySelector(".row.now"));
  }

  // Scrolls as far as needed to show a row, below the player, which stays on top.
  reveal(row) {
    if (!row) return;
    row.scrollIntoView({ block: "nearest", inline: "nearest" });
    const event = row.querySelector(".event");
    if (event) event.scrollIntoView({ block: "nearest", inline: "nearest" });
  }

  // Shows the finding's own events.
  open() {
    this.go(this.finding.steps);
    const marked = this.right ? [...this.right.lanes.querySelectorAll(".event.mark")] : [];
    for (const event of marked) this.reveal(event.closest(".row"));
    if (marked.length) this.reveal(marked.at(-1).closest(".row"));
  }

  // To the next or last step that decides.
  jump(by) {
    const steps = this.finding.decisive.map((step) => step + 1);
    const next = by > 0 ? steps.find((s) => s > this.count) : steps.findLast((s) => s < this.count);
    this.go(next ?? (by > 0 ? this.witness.rows.length : 0));
  }

  // Gives each thread a lane of its own, or folds those that the finding does not need.
  showThreads(all) {
    this.allThreads = all;
    this.refresh();
  }

  unfoldAll() {
    const open = this.right.open.size || this.left.open.size;
    for (const timeline of [this.left, this.right]) {
      timeline.open.clear();
      // A page with a hundred thousand rows is of no use: so many, from the current step on.
      if (!open) for (let s = Math.max(0, this.count - 1000), end = Math.min(timeline.count, s + 2000); s < end; s++) timeline.open.add(s);
    }
    this.refresh();
  }

  refresh() {
    if (!this.witness) return;
    const done = this.count - 1;
    const row = done >= 0 ? this.witness.rows[done] : -1;
    this.left.draw(row >= 0 ? this.left.simulation.stepOf.get(row) : -1);
    this.right.draw(done);
    this.slider.value = String(this.count);
    this.output.textContent = `step ${this.count.toLocaleString("en")} of ${this.witness.rows.length.toLocaleString("en")}`;
    if (this.overview) this.overview.draw();
    const { parts, state } = stateTables(this, this.count);
    this.beside.replaceChildren(sourcePanels(this, state, this.count), ...parts);
  }
}

// Text with `code` in it.
function inCode(text) { return text.split("`").map((part, i) => (i % 2 ? make("code", {}, part) : part)); }

// The little Markdown that explanations use: headings, lists, paragraphs.
function paragraphs(markdown) {
  return markdown.split("\n\n").slice(1).map((block) => {
    if (block.startsWith("## ")) return make("h3", {}, block.slice(3).trim());
    if (block.startsWith("- ")) return make("ul", {}, ...block.trim().split("\n").map((line) => make("li", {}, ...inCode(line.slice(2)))));
    return make("p", {}, ...inCode(block.trim()));
  });
}

let view = null;
const search = new Search();
const list = new List(DATA.findings, (i) => {
  const finding = DATA.findings[i];
  view = new View(finding, i);
  document.getElementById("detail").replaceChildren(view.element);
  list.select(i);
  history.replaceState(null, "", `#${finding.trace ? `${finding.trace}/` : ""}${finding.id}`);
  document.getElementById("detail").scrollTop = 0;
  view.open();
  search.show();
});

function start() {
  const t = DATA.traces;
  const cutShort = t.some((trace) => trace.complete === false);
  document.getElementById("overview").textContent = `${t.map((trace) => trace.path).join(", ")} · Foretell ${DATA.version}${cutShort ? " · cut short: not everything was looked at" : ""}`;
  const wanted = decodeURIComponent(location.hash.slice(1));
  const named = DATA.findings.findIndex((f) => `${f.trace ? `${f.trace}/` : ""}${f.id}` === wanted);
  if (named >= 0) list.choose(named);
  else if (list.shown.length) list.choose(list.shown[0]);
  else document.getElementById("detail").append(make("p", { class: "empty" }, DATA.findings.length ? "Everything is filtered out." : cutShort ? "Nothing was predicted so far." : "Nothing was predicted."));
}

const KEYS = {
  ArrowRight: (e) => view && view.witness && (e.shiftKey ? view.jump(1) : view.go(view.count + 1)),
  ArrowLeft: (e) => view && view.witness && (e.shiftKey ? view.jump(-1) : view.go(view.count - 1)),
  Home: () => view && view.go(0),
  End: () => view && view.go(view.finding.steps),
  j: () => list.step(1),
  k: () => list.step(-1),
  u: () => view && view.witness && view.unfoldAll(),
  t: () => toggleTheme(),
  "/": () => document.getElementById("search").focus(),
  "?": () => toggleKeys(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  const typing = event.target.matches && event.target.matches("input:not([type=checkbox]):not([type=range]), select");
  if (typing) { if (event.key === "Escape") event.target.blur(); return; }
  const act = KEYS[event.key];
  if (!act) return;
  event.preventDefault();
  act(event);
});

function toggleTheme() {
  const dark = document.documentElement.dataset.theme
    ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  document.documentElement.dataset.theme = dark ? "light" : "dark";
}

function toggleKeys() {
  const keys = document.getElementById("keys");
  keys.hidden = !keys.hidden;
  document.getElementById("help").setAttribute("aria-expanded", String(!keys.hidden));
}

document.getElementById("theme").addEventListener("click", toggleTheme);
document.getElementById("help").addEventListener("click", toggleKeys);

for (const [shows, type] of [[true, "mouseover"], [false, "mouseout"], [true, "focusin"], [false, "focusout"]]) {
  document.addEventListener(type, (event) => {
    const cell = event.target.closest && event.target.closest("[data-tip]");
    TIP.hidden = !(shows && cell);
    if (TIP.hidden) return;
    TIP.textContent = cell.dataset.tip;
    const box = cell.getBoundingClientRect();
    TIP.style.left = `${Math.max(4, Math.min(box.left, innerWidth - TIP.offsetWidth - 8))}px`;
    const below = box.bottom + 6;
    TIP.style.top = `${below + TIP.offsetHeight > innerHeight ? Math.max(4, box.top - TIP.offsetHeight - 6) : below}px`;
  });
}

addEventListener("resize", () => view && view.refresh());
addEventListener("beforeprint", () => document.querySelectorAll("details").forEach((d) => { d.open = true; }));
start();
