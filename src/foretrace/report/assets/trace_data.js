// One trace as the page holds it: events of the host, then device activity, as columns; and what can be asked of them.

class TraceData {
  constructor(payload) {
    const content = payload.content;
    Object.assign(this, {
      file: content.file, kernels: content.kernels, decoded: content.decoded, ops: content.ops,
      steps: content.steps, perStep: content.per_step, strings: content.strings,
      threads: content.threads, streams: content.streams, firstStep: content.first_step,
    });
    const host = payload.column("host_ts", Float64Array);
    const device = payload.column("act_ts", Float64Array);
    /** Events below `hosts` are the host's; the others are device activity. */
    this.hosts = host.length;
    this.count = host.length + device.length;
    this.ts = joined(host, device, Float64Array);
    this.dur = joined(payload.column("host_dur", Float64Array), payload.column("act_dur", Float64Array), Float64Array);
    this.index = joined(payload.column("host_index", Int32Array), payload.column("act_index", Int32Array), Int32Array);
    this.hostName = payload.column("host_name", Int32Array);
    this.category = payload.column("host_category", Uint8Array);
    this.shapes = payload.column("host_shapes", Int32Array);
    this.kernelOf = payload.column("act_kernel", Int32Array);
    this.stepOf = payload.column("act_step", Int32Array);
    this.launchOf = payload.column("act_launch", Int32Array);
    this.launchDelay = payload.column("act_launch_ts", Float64Array);
    this.ownerOf = payload.column("act_owner", Int32Array);
    this.kernelColors = this.kernels.map((row) => COLOR[kernelColor(row, this.decoded)]);
    this.#tieLaunches();
    this.forward = new Map();
    this.backward = new Map();
    const back = payload.column("backward_op", Int32Array);
    const ahead = payload.column("forward_op", Int32Array);
    back.forEach((op, at) => {
      this.forward.set(op, ahead[at]);
      if (!this.backward.has(ahead[at])) this.backward.set(ahead[at], []);
      this.backward.get(ahead[at]).push(op);
    });
  }

  #tieLaunches() {
    // Activities in the order of their launches: those under a range of host events are then one slice.
    const linked = [];
    this.launchOf.forEach((launch, at) => launch >= 0 && linked.push(at));
    linked.sort((a, b) => this.launchOf[a] - this.launchOf[b]);
    this.byLaunch = Int32Array.from(linked, (at) => at + this.hosts);
    this.launches = Int32Array.from(linked, (at) => this.launchOf[at]);
    this.threadEnd = new Int32Array(this.threads.length);
    let end = 0;
    this.threads.forEach(([, , events], at) => (this.threadEnd[at] = end += events));
    this.rowOfIndex = null;
  }

  isHost(event) {
    return event < this.hosts;
  }

  end(event) {
    return this.ts[event] + this.dur[event];
  }

  /** The event at this position of the file's event list, or -1. */
  eventAt(index) {
    if (!this.rowOfIndex) this.rowOfIndex = new Map(Array.from(this.index, (value, event) => [value, event]));
    return this.rowOfIndex.get(index) ?? -1;
  }

  kernel(event) {
    return this.kernels[this.kernelOf[event - this.hosts]];
  }

  name(event) {
    return this.isHost(event) ? this.strings[this.hostName[event]] : this.kernel(event).name;
  }

  /** What a box says: the decoded kernel, or the name. */
  label(event) {
    return this.isHost(event) ? this.strings[this.hostName[event]] : this.kernel(event).short;
  }

  color(event) {
    if (!this.isHost(event)) return this.kernelColors[this.kernelOf[event - this.hosts]];
    return COLOR[CATEGORY_COLOR[this.category[event]] || "other"];
  }

  /** The launch of an activity: a host event, -1 when unlinked, -2 when it is not in these lanes. */
  launch(event) {
    return this.launchOf[event - this.hosts];
  }

  /** First host event that starts on this event's thread at or after its end: all between lies inside it. */
  afterInside(event) {
    const end = this.end(event);
    let high = this.threadEnd[this.threadEnd.findIndex((limit) => event < limit)];
    let low = event + 1;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.ts[middle] < end) low = middle + 1;
      else high = middle;
    }
    return low;
  }

  /** Device activity launched inside a host event. */
  launchedIn(event) {
    const from = lowerBound(this.launches, event);
    return this.byLaunch.subarray(from, lowerBound(this.launches, this.afterInside(event), from));
  }

  /** The host events around this one, outermost first. */
  around(event) {
    const path = [];
    const thread = this.threadEnd.findIndex((limit) => event < limit);
    const first = thread > 0 ? this.threadEnd[thread - 1] : 0;
    for (let at = event - 1; at >= first && path.length < 40; at--) {
      if (this.end(at) > this.ts[event]) path.unshift(at);
    }
    return path;
  }

  /** The step of an event, or -1. */
  step(event) {
    if (!this.isHost(event)) return this.stepOf[event - this.hosts];
    return this.steps.findIndex((step) => this.ts[event] >= step.ts && this.ts[event] < step.end);
  }

  /** From a step's first event on the host to the end of its last on the device: [from, to]. */
  stepWindow(number) {
    let { ts: from, end: to } = this.steps[number];
    this.stepOf.forEach((step, at) => {
      if (step !== number) return;
      from = Math.min(from, this.ts[this.hosts + at]);
      to = Math.max(to, this.end(this.hosts + at));
    });
    return [from, to];
  }

  window() {
    let [from, to] = [Infinity, -Infinity];
    for (let event = 0; event < this.count; event++) {
      if (this.ts[event] < from) from = this.ts[event];
      if (this.end(event) > to) to = this.end(event);
    }
    return from < to ? [from, to] : [0, 1];
  }
}

function joined(first, second, Kind) {
  const both = new Kind(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

/** The first position from `low` on whose value is not below `value`, in a sorted array. */
function lowerBound(sorted, value, low = 0) {
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}
