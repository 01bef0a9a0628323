// The overview of a long witness: one line a thread, the deciding steps marked, the current step as a line. It can
// be zoomed; a click goes to a step.

const SHORTEST = 60; // Shorter witnesses need no overview.
const LINE = 6;

class Overview {
  constructor(view) {
    this.view = view;
    this.zoom = 1;
    this.runs = [];
    let from = 0;
    for (let i = 0; i < view.finding.runs.length; i += 2) {
      this.runs.push({ thread: view.finding.runs[i], from, to: from += view.finding.runs[i + 1] });
    }
    this.length = from;
    const needed = view.neededThreads();
    this.threads = [...new Set([...needed, ...this.runs.map((run) => run.thread)])].slice(0, 12);
    this.canvas = make("canvas", { class: "strip", "aria-hidden": "true", onclick: (event) => this.choose(event) });
    this.canvas.addEventListener("wheel", (event) => { event.preventDefault(); this.scale(event.deltaY < 0 ? 2 : 0.5); }, { passive: false });
    const button = (text, title, by) => make("button", { type: "button", title, "aria-label": title, onclick: () => this.scale(by) }, text);
    this.element = make("div", { class: "overview", role: "group", "aria-label": "Overview of the witness" },
      this.canvas, button("+", "Zoom in", 2), button("−", "Zoom out", 0.5));
  }

  // The steps that are shown: all of them, or a part around the current step.
  range() {
    const size = Math.max(20, this.length / this.zoom);
    const from = Math.max(0, Math.min(this.length - size, this.view.count - size / 2));
    return [from, Math.min(this.length, from + size)];
  }

  scale(by) {
    this.zoom = Math.max(1, Math.min(this.length / 20, this.zoom * by));
    this.draw();
  }

  choose(event) {
    const [from, to] = this.range();
    const box = this.canvas.getBoundingClientRect();
    this.view.go(Math.round(from + (event.clientX - box.left) / box.width * (to - from)));
  }

  draw() {
    const width = Math.max(100, Math.round(this.canvas.clientWidth));
    const height = this.threads.length * LINE + 6;
    Object.assign(this.canvas, { width, height });
    this.canvas.style.height = `${height}px`;
    const paint = this.canvas.getContext("2d");
    const style = getComputedStyle(document.documentElement);
    const colour = (name) => style.getPropertyValue(name);
    const [from, to] = this.range();
    const x = (step) => (step - from) / (to - from) * width;
    paint.fillStyle = colour("--quiet");
    for (const run of this.runs) {
      const lane = this.threads.indexOf(run.thread);
      if (lane < 0 || run.to < from || run.from > to) continue;
      paint.fillRect(x(run.from), 3 + lane * LINE, Math.max(1, x(run.to) - x(run.from)), LINE - 2);
    }
    paint.fillStyle = colour("--mark");
    for (const step of this.view.finding.decisive) if (step >= from && step <= to) paint.fillRect(x(step), 0, 2, height);
    paint.fillStyle = colour("--now-line");
    paint.fillRect(Math.min(width - 2, Math.max(0, x(this.view.count) - 1)), 0, 2, height);
  }
}
