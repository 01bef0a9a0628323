// A trace as the page holds it: columns of events, texts by number. A row is the
// index of an event: the page holds the trace up to the last event that a witness needs.

const READS = new Set(["r", "ar", "au"]);
const WRITES = new Set(["w", "aw", "au"]);
const WORDS = {
  r: "reads", w: "writes", ar: "reads atomically", aw: "writes atomically", au: "updates atomically",
  acq: "takes lock", rel: "releases lock", racq: "takes lock shared", rrel: "releases lock shared",
  tryfail: "fails to take lock", tryacq: "takes lock", rtryacq: "takes lock shared", wait: "waits for", woken: "is woken from", timedout: "times out waiting for",
  notify: "notifies", notifyall: "notifies all of", post: "posts", down: "takes from semaphore",
  arrive: "arrives at barrier", leave: "leaves barrier", fork: "starts thread", join: "joins thread",
  begin: "begins block", end: "ends block", guard: "passes a branch",
};

class Trace {
  constructor(raw) {
    this.raw = raw;
    this.names = raw.names;
    const c = raw.columns;
    this.thread = c.thread;
    this.ops = c.op;
    this.byThread = raw.names.map(() => []);
    c.thread.forEach((thread, row) => this.byThread[thread].push(row));
    this.opaque = new Set(raw.opaque); // Code that is not recorded writes these too.
    this.initial = new Map(raw.initial.map(([name, value]) => [this.text(name), this.text(value)]));
  }

  get length() { return this.thread.length; }

  text(number) { return number < 0 ? null : this.raw.strings[number]; }

  object(row) { return this.text(this.raw.columns.object[row]); }

  // The lock that an event takes or gives back.
  lock(row) {
    const op = this.ops[row];
    if (op === "wait" || op === "woken" || op === "timedout") return this.text(this.raw.columns.lock[row]);
    return ["acq", "rel", "racq", "rrel", "tryacq", "rtryacq"].includes(op) ? this.object(row) : null;
  }

  reads(row) { return READS.has(this.ops[row]); }

  writes(row) { return WRITES.has(this.ops[row]); }

  isAccess(row) { return this.reads(row) || this.writes(row); }

  readValue(row) { return this.text(this.raw.columns.read[row]); }

  writtenValue(row) { return this.text(this.raw.columns.written[row]); }

  // Frames, innermost first: {function, place}.
  stack(row) {
    const site = this.raw.columns.site[row];
    if (site < 0) return [];
    return this.raw.sites[site].map(([fn, place]) => ({ function: this.text(fn), place: this.text(place) }));
  }

  place(row) {
    const frames = this.stack(row);
    return frames.length ? frames[0].place : null;
  }

  // The schedule of a finding, from runs of threads, as rows.
  schedule(finding) {
    const rows = new Int32Array(finding.steps);
    const next = this.names.map(() => 0);
    let at = 0;
    for (let i = 0; i < finding.runs.length; i += 2) {
      const thread = finding.runs[i];
      for (let count = finding.runs[i + 1]; count > 0; count--) rows[at++] = this.byThread[thread][next[thread]++];
    }
    return rows;
  }
}
