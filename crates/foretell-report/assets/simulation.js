// What a schedule does: what each read sees and from where, who hands locks to whom, and the state after any step.

const EVERY = 4096; // Steps between saved states: any state is at most this many steps from one.

class Simulation {
  // `values`: what each step reads and writes, `[read, written]`, where that is not in the trace.
  constructor(trace, rows, values) {
    this.trace = trace;
    this.rows = rows;
    this.values = values || null;
    this.stepOf = new Map();
    this.seen = new Array(rows.length).fill(undefined);
    this.from = new Int32Array(rows.length).fill(-1); // The step whose write is read.
    this.hand = new Int32Array(rows.length).fill(-1); // The step whose release made way.
    this.saved = [];
    this.run();
  }

  run() {
    const state = new State(this.trace);
    const writer = new Map();
    const released = new Map();
    for (let step = 0; step < this.rows.length; step++) {
      if (step % EVERY === 0) this.saved.push(state.copy());
      const row = this.rows[step];
      this.stepOf.set(row, step);
      const { trace } = this;
      if (trace.reads(row)) {
        // Of an opaque variable only the recorded value is known.
        if (this.values) this.seen[step] = this.values[step][0];
        else if (!trace.opaque.has(trace.object(row))) this.seen[step] = state.value(trace.object(row));
        if (writer.has(trace.object(row))) this.from[step] = writer.get(trace.object(row));
      }
      if (trace.writes(row)) writer.set(trace.object(row), step);
      const lock = trace.lock(row);
      if (lock !== null) {
        if (["acq", "racq", "tryacq", "rtryacq", "woken", "timedout"].includes(trace.ops[row])) {
          const before = released.get(lock);
          if (before !== undefined && trace.thread[this.rows[before]] !== trace.thread[row]) this.hand[step] = before;
        } else released.set(lock, step);
      }
      state.apply(row, this.written(step));
    }
  }

  // What a step writes, undefined where the trace has it.
  written(step) { return this.values ? this.values[step][1] : undefined; }

  // The state when this many steps are done.
  after(count) {
    const slot = Math.max(0, Math.min(Math.floor(count / EVERY), this.saved.length - 1));
    const state = this.saved.length ? this.saved[slot].copy() : new State(this.trace);
    for (let step = slot * EVERY; step < count; step++) state.apply(this.rows[step], this.written(step));
    return state;
  }

  // The last step before `count` that does `what` to an object, or -1.
  last(count, what) {
    for (let step = Math.min(count, this.rows.length) - 1; step >= 0; step--) if (what(this.rows[step])) return step;
    return -1;
  }

  // The step that wrote the value that a variable has when this many steps are done.
  wrote(name, count) { return this.last(count, (row) => this.trace.writes(row) && this.trace.object(row) === name); }

  // The step that took the lock that is held when this many steps are done.
  taken(name, count) {
    return this.last(count, (row) => this.trace.lock(row) === name
      && ["acq", "racq", "tryacq", "rtryacq", "woken", "timedout"].includes(this.trace.ops[row]));
  }

  // The text of a step, with the values of this schedule.
  label(step) { return eventLabel(this.trace, this.rows[step], this.seen[step], this.written(step)); }
}

// An event as trace text writes it: {text, was}, `was` where the read saw something else in the trace.
function eventLabel(trace, row, seen, written) {
  const op = trace.ops[row];
  const object = trace.object(row);
  const lock = op === "wait" || op === "woken" || op === "timedout" ? "," + trace.lock(row) : "";
  if (object === null) return { text: op, was: null };
  let values = "";
  let was = null;
  if (written !== undefined && trace.isAccess(row)) {
    const show = (sign, now, recorded) => {
      if (now !== null) values += sign + now;
      if (now !== null && recorded !== null && now !== recorded) was = was === null ? recorded : `${was}>${recorded}`;
    };
    if (trace.reads(row)) show("=", seen, trace.readValue(row));
    if (trace.writes(row)) show(op === "au" ? ">" : "=", written, trace.writtenValue(row));
  } else if (trace.isAccess(row)) {
    const recorded = trace.readValue(row);
    const broken = trace.reads(row) && seen !== undefined && seen !== recorded;
    if (trace.reads(row)) {
      if (broken && seen !== null && recorded !== null) { values = "=" + seen; was = recorded; }
      else if (recorded !== null && !broken) values = "=" + recorded;
    }
    if (trace.writes(row) && trace.writtenValue(row) !== null && !(op === "au" && broken)) {
      values += (op === "au" ? ">" : "=") + trace.writtenValue(row);
    }
  }
  return { text: `${op}(${object}${lock}${values})`, was };
}

class State {
  constructor(trace) {
    this.trace = trace;
    this.variables = new Map();
    this.locks = new Map(); // name → {owner, depth, shared: Map thread → depth}
    this.last = new Map(); // thread → row
    this.waiting = new Map(); // thread → {condition, lock, depth}
  }

  copy() {
    const copy = new State(this.trace);
    copy.variables = new Map(this.variables);
    for (const [name, l] of this.locks) copy.locks.set(name, { owner: l.owner, depth: l.depth, shared: new Map(l.shared) });
    copy.last = new Map(this.last);
    copy.waiting = new Map(this.waiting);
    return copy;
  }

  // The value of a variable, null where it is not known.
  value(name) {
    if (this.trace.opaque.has(name)) return null;
    if (this.variables.has(name)) return this.variables.get(name);
    return this.trace.initial.has(name) ? this.trace.initial.get(name) : null;
  }

  lock(name) {
    if (!this.locks.has(name)) this.locks.set(name, { owner: null, depth: 0, shared: new Map() });
    return this.locks.get(name);
  }

  // `written`: what it writes, if that is not what the trace says.
  apply(row, written) {
    const { trace } = this;
    const thread = trace.thread[row];
    this.last.set(thread, row);
    const object = trace.object(row);
    if (trace.writes(row)) {
      const broken = trace.reads(row) && this.value(object) !== trace.readValue(row);
      const value = broken ? null : trace.writtenValue(row);
      this.variables.set(object, written !== undefined ? written : value);
      return;
    }
    switch (trace.ops[row]) {
      case "acq": case "tryacq": { const l = this.lock(object); l.owner = thread; l.depth++; break; }
      case "rel": { const l = this.lock(object); if (--l.depth <= 0) { l.owner = null; l.depth = 0; } break; }
      case "racq": case "rtryacq": { const l = this.lock(object); l.shared.set(thread, (l.shared.get(thread) || 0) + 1); break; }
      case "rrel": {
        const l = this.lock(object);
        const depth = (l.shared.get(thread) || 1) - 1;
        if (depth > 0) l.shared.set(thread, depth); else l.shared.delete(thread);
        break;
      }
      case "wait": {
        const l = this.lock(trace.lock(row));
        this.waiting.set(thread, { condition: object, depth: l.depth });
        l.owner = null;
        l.depth = 0;
        break;
      }
      case "woken": case "timedout": {
        const l = this.lock(trace.lock(row));
        l.owner = thread;
        l.depth = this.waiting.has(thread) ? this.waiting.get(thread).depth : 1;
        this.waiting.delete(thread);
        break;
      }
    }
  }
}
