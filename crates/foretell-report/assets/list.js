// The list of findings and its filters.

class List {
  constructor(findings, choose) {
    this.findings = findings;
    this.choose = choose;
    this.current = -1;
    this.shown = [];
    this.search = document.getElementById("search");
    this.file = document.getElementById("filter-file");
    this.replay = document.getElementById("filter-replay");
    this.suppressed = document.getElementById("filter-suppressed");
    this.kinds = new Map();
    const counts = new Map();
    for (const finding of findings) counts.set(finding.kind, (counts.get(finding.kind) || 0) + 1);
    for (const [kind, count] of counts) {
      const box = make("input", { type: "checkbox", checked: true, value: kind });
      this.kinds.set(kind, box);
      document.getElementById("filter-kinds").append(make("label", { class: "check" }, box, kind, make("span", { class: "number" }, String(count))));
    }
    const files = [...new Set(findings.flatMap((finding) => finding.files))].sort();
    this.file.append(make("option", { value: "" }, "any"), ...files.map((file) => make("option", { value: file }, file)));
    const form = document.getElementById("filters");
    form.addEventListener("input", () => this.filter());
    form.addEventListener("submit", (event) => event.preventDefault());
    this.suppressed.checked = findings.length > 0 && findings.every(isHidden);
    this.filter();
  }

  matches(finding) {
    if (!this.kinds.get(finding.kind).checked) return false;
    if (isHidden(finding) && !this.suppressed.checked) return false;
    if (this.file.value && !finding.files.includes(this.file.value)) return false;
    const replay = finding.replay === null ? "none" : finding.confirmation === "unconfirmed" ? "unconfirmed"
      : finding.replay.wrong ? "wrong" : "fine";
    if (this.replay.value && this.replay.value !== replay) return false;
    const text = [finding.id, finding.headline, ...finding.objects, ...finding.locations].join(" ").toLowerCase();
    return this.search.value.toLowerCase().split(/\s+/).every((word) => text.includes(word));
  }

  filter() {
    const rank = (i) => CONFIRMATIONS.indexOf(this.findings[i].confirmation);
    this.shown = this.findings.map((_, i) => i).filter((i) => this.matches(this.findings[i])).sort((a, b) => rank(a) - rank(b));
    this.shown = this.byCause(this.shown);
    const entries = this.shown.map((i) => make("li", {}, this.entry(i)));
    const first = this.shown.findIndex((i) => this.findings[i].confirmation === "unconfirmed");
    if (first >= 0) entries.splice(first, 0, make("li", { class: "section" }, "Unconfirmed: the replay did not reach these"));
    document.getElementById("findings").replaceChildren(...entries);
    document.getElementById("count").textContent = `${this.shown.length} of ${this.findings.length} findings`;
  }

  // Findings with one cause together, the one that stands for the cause first; unconfirmed ones stay last.
  byCause(shown) {
    const key = (i) => `${this.findings[i].confirmation === "unconfirmed"} ${this.findings[i].trace} ${this.findings[i].cause ?? this.findings[i].id}`;
    const groups = new Map();
    for (const i of shown) groups.set(key(i), [...(groups.get(key(i)) || []), i]);
    this.variants = new Set();
    return [...groups.values()].flatMap((group) => {
      const head = group.find((i) => this.findings[i].id === this.findings[i].cause) ?? group[0];
      const rest = group.filter((i) => i !== head);
      rest.forEach((i) => this.variants.add(i));
      return [head, ...rest];
    });
  }

  entry(i) {
    const finding = this.findings[i];
    const verdict = finding.replay === null ? null
      : make("span", { class: `verdict${finding.replay.wrong ? " wrong" : ""}` }, finding.replay.verdict);
    return make("button", {
      type: "button", class: [isHidden(finding) ? "hidden-one" : "", this.variants.has(i) ? "variant" : ""].join(" ").trim() || null, "aria-current": i === this.current ? "true" : null,
      onclick: () => this.choose(i),
    }, make("span", { class: "id" }, make("span", {}, finding.id), traceName(finding), hiddenWord(finding), verdict), make("span", {}, ...inCode(finding.headline)));
  }

  select(i) {
    this.current = i;
    const entries = document.getElementById("findings").querySelectorAll("button");
    this.shown.forEach((finding, at) => {
      if (finding === i) { entries[at].setAttribute("aria-current", "true"); entries[at].scrollIntoView({ block: "nearest" }); }
      else entries[at].removeAttribute("aria-current");
    });
  }

  // The finding that is so many after the current one in the list.
  step(by) {
    const at = this.shown.indexOf(this.current);
    const next = at < 0 ? 0 : Math.max(0, Math.min(this.shown.length - 1, at + by));
    if (this.shown.length) this.choose(this.shown[next]);
  }
}

// The order of the list.
const CONFIRMATIONS = ["confirmed", "not-replayed", "unconfirmed"];

function isHidden(finding) { return finding.suppressed !== null || finding.baseline === "unchanged"; }

// Which trace, where there are several.
function traceName(finding) {
  return DATA.traces.length > 1 ? make("span", {}, DATA.traces[finding.trace].path.split("/").pop()) : null;
}

function hiddenWord(finding) {
  if (finding.suppressed !== null) return make("span", {}, "suppressed");
  return finding.baseline === "unchanged" ? make("span", {}, "known") : null;
}
