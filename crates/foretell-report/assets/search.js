// The search: it filters the findings, and lists the steps of the chosen witness that match, by object, operation,
// function and place.

const MOST_HITS = 50;

class Search {
  constructor() {
    this.field = document.getElementById("search");
    this.hits = document.getElementById("hits");
    this.field.addEventListener("input", () => this.show());
  }

  words() { return this.field.value.toLowerCase().split(/\s+/).filter(Boolean); }

  // The steps that match, and how many there are.
  find(current) {
    const words = this.words();
    const found = [];
    let count = 0;
    if (!words.length || !current || !current.witness) return { found, count };
    const { trace } = current;
    const known = new Map(); // Events repeat: what does not depend on the step is asked once.
    const text = (row) => {
      const key = `${trace.ops[row]} ${trace.raw.columns.object[row]} ${trace.raw.columns.site[row]} ${trace.thread[row]}`;
      if (!known.has(key)) {
        const frames = trace.stack(row).flatMap((frame) => [frame.function, frame.place]);
        known.set(key, [trace.names[trace.thread[row]], WORDS[trace.ops[row]], trace.object(row), ...frames].filter(Boolean).join(" ").toLowerCase());
      }
      return known.get(key);
    };
    current.witness.rows.forEach((row, step) => {
      if (!words.every((word) => text(row).includes(word))) return;
      count++;
      if (found.length < MOST_HITS) found.push(step);
    });
    return { found, count };
  }

  show() {
    const current = view;
    const { found, count } = this.find(current);
    this.hits.hidden = !this.words().length;
    if (this.hits.hidden) return;
    const entries = found.map((step) => {
      const row = current.witness.rows[step];
      const place = current.trace.place(row);
      return make("li", {}, make("button", { type: "button", onclick: () => current.go(step + 1) },
        make("span", { class: "n" }, String(step + 1)), make("code", {}, `${current.trace.names[current.trace.thread[row]]} ${current.witness.label(step).text}`),
        place ? make("span", { class: "place" }, place) : null));
    });
    const title = count > found.length ? `Steps of this witness: ${found.length} of ${count.toLocaleString("en")}` : `Steps of this witness: ${count}`;
    this.hits.replaceChildren(make("h3", {}, title), make("ol", {}, ...entries));
  }
}
