// Beside the timeline: locks and variables after the current step, and the source at the current line of each thread.

const AROUND = 3;
const MOST_VARIABLES = 40;

function stateTables(view, count) {
  const { trace } = view;
  const state = view.witness.after(count);
  const before = count > 0 ? view.witness.after(count - 1) : null;
  const about = new Set(view.finding.objects);
  const locks = [...new Set([...state.locks.keys(), ...[...about].filter((name) => view.lockNames.has(name))])].sort();
  const holder = (l) => {
    if (!l) return "free";
    if (l.owner !== null) return trace.names[l.owner] + (l.depth > 1 ? ` (${l.depth} deep)` : "");
    return l.shared.size ? [...l.shared.keys()].map((t) => trace.names[t]).join(", ") + " shared" : "free";
  };
  const lockRows = locks.map((name) => {
    const now = holder(state.locks.get(name));
    const waits = count === view.witness.rows.length
      ? view.finding.blocked.filter((row) => trace.lock(row) === name).map((row) => trace.names[trace.thread[row]]) : [];
    const taken = view.witness.taken(name, count);
    const text = now + (waits.length ? `; ${waits.join(", ")} waits` : "");
    return row([name, linked(view, text, now === "free" ? -1 : taken, "Who holds it: to the step that took it")], before && holder(before.locks.get(name)) !== now, about.has(name));
  });
  const names = [...new Set([...[...about].filter((name) => view.variableNames.has(name)), ...state.variables.keys()])];
  const shown = names.sort((a, b) => about.has(b) - about.has(a) || (a < b ? -1 : 1)).slice(0, MOST_VARIABLES);
  const variableRows = shown.map((name) => {
    const now = state.value(name);
    return row([name, linked(view, now ?? "?", view.witness.wrote(name, count), "Who wrote it: to the step that wrote this value")], before && before.value(name) !== now, about.has(name));
  });
  const waiting = [...state.waiting].map(([thread, w]) => row([trace.names[thread], `waits for ${w.condition}`], false, false));
  const parts = [];
  if (lockRows.length) parts.push(table("Locks", lockRows));
  if (waiting.length) parts.push(table("Waiting", waiting));
  if (variableRows.length) parts.push(table(names.length > shown.length ? `Variables (${shown.length} of ${names.length})` : "Variables", variableRows));
  return { parts, state };
}

// A text that leads to a step, if there is one.
function linked(view, text, step, title) {
  if (step < 0) return text;
  const name = view.trace.names[view.trace.thread[view.witness.rows[step]]];
  return make("button", { type: "button", class: "to", title, onclick: () => view.go(step + 1) },
    text, make("span", { class: "since" }, ` step ${step + 1}, ${name}`));
}

function row(cells, changed, about) {
  const classes = [changed ? "changed" : "", about ? "about" : ""].join(" ").trim();
  return make("tr", { class: classes || null }, ...cells.map((cell) => make("td", { class: "mono" }, cell)));
}

function table(title, rows) {
  return make("section", { "aria-label": title }, make("h3", {}, title), make("table", {}, make("tbody", {}, ...rows)));
}

// The source at the current line of each thread that has run: the one that ran last first, then those of the finding.
function sourcePanels(view, state, count) {
  const { trace } = view;
  const last = count > 0 ? trace.thread[view.witness.rows[count - 1]] : -1;
  const needed = view.neededThreads();
  const rank = (thread) => thread === last ? 0 : needed.includes(thread) ? 1 : 2;
  const threads = [...state.last.keys()].sort((a, b) => rank(a) - rank(b) || a - b);
  const panels = threads.slice(0, 8).map((thread) => sourcePanel(view, thread, state.last.get(thread), thread === last));
  return make("section", { "aria-label": "Source" }, make("h3", {}, "Source"),
    ...(panels.length ? panels : [make("p", { class: "empty" }, "No thread has run yet.")]));
}

function sourcePanel(view, thread, at, active) {
  const stuck = view.count === view.witness.rows.length && view.finding.blocked.find((row) => view.trace.thread[row] === thread);
  const row = stuck === undefined || stuck === false ? at : stuck;
  const frames = view.trace.stack(row);
  const place = frames.length ? frames[0].place : null;
  const title = [frames.length ? frames[0].function : null, place].filter(Boolean).join(" at ") || "place not known";
  const head = make("h4", {}, make("b", {}, view.trace.names[thread]), make("span", { title }, title));
  const lines = sourceLines(place);
  return make("div", { class: `source${active ? " active" : ""}` }, head, lines);
}

// The lines around a place, or nothing where the source is not in the page.
function sourceLines(place) {
  const match = place && /^(.*?):(\d+)(?::\d+)?$/.exec(place);
  const source = match && DATA.sources[match[1]];
  if (!source) return null;
  const line = Number(match[2]);
  const first = Math.max(1, line - AROUND);
  const lines = source.lines.slice(first - 1, line + AROUND);
  return make("pre", {}, ...lines.map((text, i) =>
    make("span", { class: first + i === line ? "here" : null }, make("i", {}, String(first + i)), text.replaceAll("\t", "    ") || " ")));
}
