// One lane a thread, one row a step: the observed order, or the witness. What does not decide is folded.

const CHUNK = 200; // So many rows of a fold are opened at once.
const MOST_ARROWS = 400;
const FOLDED = 2; // More threads than this that the finding does not need share a lane.
const OTHERS = -1;

function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (value === null || value === undefined || value === false) continue;
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (name === "hidden" || name === "checked" || name === "value") element[name] = value;
    else element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

class Timeline {
  // `steps` are rows of the trace in the order to show; `keep` says which of them are never folded.
  constructor(view, title, simulation, keep, blocked) {
    this.view = view;
    this.simulation = simulation;
    this.keep = new Set(keep);
    this.open = new Set();
    this.extra = -1;
    this.blocked = blocked;
    this.lanes = make("div", { class: "lanes" });
    this.element = make("section", { class: "panel", "aria-label": title }, make("h3", {}, title), this.lanes);
  }

  get count() { return this.simulation.rows.length; }

  // What is shown: steps, and ranges that are folded.
  items() {
    const items = [];
    const visible = [...new Set([...this.keep, ...this.open, ...(this.extra >= 0 ? [this.extra] : [])])]
      .filter((step) => step < this.count).sort((a, b) => a - b);
    let next = 0;
    for (const step of visible) {
      if (step === next + 1) items.push({ step: next });
      else if (step > next) items.push({ from: next, to: step });
      items.push({ step });
      next = step + 1;
    }
    if (this.count === next + 1) items.push({ step: next });
    else if (this.count > next) items.push({ from: next, to: this.count });
    return items;
  }

  unfold(from, to) {
    for (let step = from; step < Math.min(to, from + CHUNK); step++) this.open.add(step);
    this.view.refresh();
  }

  // Draws the rows; `now` is the step that was done last, or -1.
  draw(now) {
    this.extra = now;
    const { trace } = this.simulation;
    const items = this.items();
    // The threads of the finding come first; others share a lane until they are unfolded.
    const needed = this.view.neededThreads();
    const others = [...new Set(items.filter((item) => item.step !== undefined).map((item) => trace.thread[this.simulation.rows[item.step]]))]
      .filter((thread) => !needed.includes(thread)).sort((a, b) => trace.byThread[a][0] - trace.byThread[b][0]);
    this.folded = others.length > FOLDED && !this.view.allThreads ? new Set(others) : new Set();
    const threads = [...needed, ...(this.folded.size ? [OTHERS] : others)];
    const columns = `3.2rem repeat(${Math.max(1, threads.length)}, minmax(9rem, 1fr))`;
    const head = make("div", { class: "head" }, make("span"), ...threads.map((thread) => (thread === OTHERS
      ? make("button", { type: "button", title: others.map((t) => trace.names[t]).join(", "), onclick: () => this.view.showThreads(true) }, `${others.length} other threads`)
      : make("span", {}, trace.names[thread]))));
    if (this.view.allThreads && others.length > FOLDED) {
      head.firstChild.replaceWith(make("button", { type: "button", title: "Fold the other threads", "aria-label": "Fold the other threads", onclick: () => this.view.showThreads(false) }, "⇤"));
    }
    head.style.gridTemplateColumns = columns;
    this.cells = new Map();
    const rows = items.map((item) => {
      const row = item.step !== undefined ? this.eventRow(item.step, threads, now) : this.foldRow(item);
      row.style.gridTemplateColumns = columns;
      return row;
    });
    for (const blocked of this.blocked) {
      const row = this.row("", blocked, threads, this.cell(blocked, eventLabel(trace, blocked, undefined), "blocked: waits for ever"));
      row.classList.toggle("now", now === this.count - 1);
      row.style.gridTemplateColumns = columns;
      rows.push(row);
    }
    this.lanes.replaceChildren(head, ...rows);
    this.arrows(items);
  }

  row(number, row, threads, cell) {
    const thread = this.simulation.trace.thread[row];
    const lane = threads.indexOf(this.folded.has(thread) ? OTHERS : thread);
    return make("div", { class: "row" }, make("span", { class: "n" }, number),
      ...threads.map((_, i) => make("div", { class: "lane" }, i === lane ? cell : null)));
  }

  eventRow(step, threads, now) {
    const row = this.simulation.rows[step];
    const cell = this.cell(row, this.simulation.label(step), null, step);
    this.cells.set(step, cell);
    const element = this.row(String(step + 1), row, threads, cell);
    element.dataset.step = step;
    if (step === now) element.classList.add("now");
    if (step > now) element.classList.add("later");
    return element;
  }

  cell(row, label, note, step) {
    const { trace } = this.simulation;
    const marked = this.view.finding.pattern.includes(row);
    const cell = make("button", {
      type: "button", tabindex: "-1", class: `event mono${marked ? " mark" : ""}${note ? " blocked" : ""}`,
      onclick: () => { const at = this.view.witness.stepOf.get(row); if (at !== undefined) this.view.go(at + 1); },
    }, this.folded.has(trace.thread[row]) ? make("b", {}, `${trace.names[trace.thread[row]]} `) : null, ...breakable(label.text), label.was !== null ? make("span", { class: "was" }, ` was ${label.was}`) : null);
    const frames = trace.stack(row).map((f) => [f.function, f.place].filter(Boolean).join(" at "));
    const about = this.view.finding.notes.filter((n) => n.row === row).map((n) => n.text);
    const lines = [
      `${trace.names[trace.thread[row]]} ${WORDS[trace.ops[row]]} ${trace.object(row) ?? ""}${note ? `, ${note}` : ""}`,
      ...about, this.fromText(step), ...frames.map((f, i) => (i ? "called from " : "in ") + f),
      `event ${row} of the trace`,
    ];
    cell.dataset.tip = lines.filter(Boolean).join("\n");
    cell.setAttribute("aria-label", `${cell.textContent}: ${cell.dataset.tip}`);
    return cell;
  }

  fromText(step) {
    if (step === undefined || !this.simulation.trace.reads(this.simulation.rows[step])) return null;
    const from = this.simulation.from[step];
    return from < 0 ? "sees the initial value" : `sees the value of step ${from + 1}`;
  }

  foldRow(item) {
    const count = item.to - item.from;
    const names = [...new Set(Array.from(this.simulation.rows.subarray(item.from, Math.min(item.to, item.from + 10000)))
      .map((row) => this.simulation.trace.thread[row]))].map((thread) => this.simulation.trace.names[thread]);
    const text = `${count.toLocaleString("en")} steps of ${names.slice(0, 3).join(", ")}${names.length > 3 ? " and others" : ""}`;
    return make("div", { class: "row fold" }, make("span", { class: "n" }, "⋮"),
      make("button", { type: "button", onclick: () => this.unfold(item.from, item.to) }, text));
  }

  // Arrows between rows that are shown.
  arrows(items) {
    const NS = "http://www.w3.org/2000/svg";
    const svg = document.createElementNS(NS, "svg");
    svg.setAttribute("class", "arrows");
    svg.setAttribute("aria-hidden", "true");
    const id = (kind) => `${this.view.prefix}-${this === this.view.right ? "w" : "o"}-${kind}`;
    const defs = document.createElementNS(NS, "defs");
    for (const kind of ["from", "conflict", "hand"]) {
      const marker = document.createElementNS(NS, "marker");
      for (const [k, v] of Object.entries({ id: id(kind), class: kind, viewBox: "0 0 8 8", refX: 7, refY: 4, markerWidth: 7, markerHeight: 7, orient: "auto" })) marker.setAttribute(k, v);
      const head = document.createElementNS(NS, "path");
      head.setAttribute("d", "M0,0 L8,4 L0,8 z");
      marker.append(head);
      defs.append(marker);
    }
    svg.append(defs);
    const edges = this.edges(items).slice(0, MOST_ARROWS);
    // Measured first, drawn afterwards: the browser lays out once.
    const box = this.lanes.getBoundingClientRect();
    const at = (step) => { const r = this.cells.get(step).getBoundingClientRect(); return { x: r.left - box.left, y: r.top - box.top, w: r.width, h: r.height }; };
    for (const [kind, a, b] of edges) {
      const [p, q] = [at(a), at(b)];
      const path = document.createElementNS(NS, "path");
      path.setAttribute("class", kind);
      path.setAttribute("d", curve(p, q, kind));
      path.setAttribute("marker-end", `url(#${id(kind)})`);
      svg.append(path);
    }
    this.lanes.append(svg);
  }

  edges(items) {
    const shown = new Set(items.filter((item) => item.step !== undefined).map((item) => item.step));
    const { rows, trace, from, hand, stepOf } = this.simulation;
    const edges = [];
    const pattern = this.view.finding.pattern.map((row) => stepOf.get(row)).filter((s) => s !== undefined && shown.has(s));
    for (let i = 0; i < pattern.length; i++) {
      for (let j = i + 1; j < pattern.length; j++) {
        const [a, b] = [Math.min(pattern[i], pattern[j]), Math.max(pattern[i], pattern[j])];
        const [x, y] = [rows[a], rows[b]];
        const conflict = trace.isAccess(x) && trace.isAccess(y) && trace.thread[x] !== trace.thread[y]
          && trace.object(x) === trace.object(y) && (trace.writes(x) || trace.writes(y));
        if (conflict) edges.push(["conflict", a, b]);
      }
    }
    for (const step of shown) {
      for (const [kind, before] of [["from", from[step]], ["hand", hand[step]]]) {
        if (before < 0 || !shown.has(before) || trace.thread[rows[before]] === trace.thread[rows[step]]) continue;
        if (this.folded.has(trace.thread[rows[before]]) && this.folded.has(trace.thread[rows[step]])) continue;
        if (kind === "from" && edges.some((e) => e[0] === "conflict" && e[1] === before && e[2] === step)) continue;
        edges.push([kind, before, step]);
      }
    }
    return edges;
  }
}

// Text that may be broken after a bracket, where there is no room for all of it.
function breakable(text) {
  const at = text.indexOf("(") + 1;
  return at > 0 ? [text.slice(0, at), make("wbr"), text.slice(at)] : [text];
}

// From the edge of one box to the edge of another one below it, in another lane.
function curve(p, q, kind) {
  const right = q.x > p.x;
  const lift = kind === "hand" ? 0.75 : kind === "conflict" ? 0.5 : 0.35;
  const [x1, y1] = [right ? p.x + p.w : p.x, p.y + p.h * lift];
  const [x2, y2] = [right ? q.x : q.x + q.w, q.y + q.h * lift];
  const bend = Math.max(16, Math.abs(x2 - x1) / 2) * (right ? 1 : -1);
  return `M${x1},${y1} C${x1 + bend},${y1} ${x2 - bend},${y2} ${x2},${y2}`;
}
